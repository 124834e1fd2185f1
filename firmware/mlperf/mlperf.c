/*
 * MLPerf Tiny's serial protocol around generated C (nucleon codegen --name model): commands end with %, answers with
 * CR LF, the last line is m-ready. The image's name is the benchmark's: kws01, ic01, vww01 or ad01.
 *
 * Bytes of `db` are the input as it lies in memory; those of ic01 and vww01 are pixels from 0, which an int8 input has
 * from -128. The result is output 0; that of ad01 the mean square of what the network does not reproduce.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "firmware/serial/serial.h"
#include "model.h"
#include "nucleon/runtime.h"
#include "port/port.h"
#include "port/print.h"
#include "port/startup.h"

#define VERSION "ULPMark for tinyML Firmware V0.0.1"
#define LINE_BYTES 160 /* the runner sends at most 31 bytes of data in one */

static struct {
    uint8_t bytes[MODEL_INPUT0_BYTES];
    size_t size, at; /* what `db load` announced, and what came */
} buffer;

/* ---- answers ---- */

static void put_number(const char *before, uint64_t value, const char *after)
{
    char text[NUC_NUMBER_BYTES];

    nuc_serial_put(before);
    nuc_serial_put(nuc_number((int64_t)value, text));
    nuc_serial_put(after);
}

/* With six digits after the point, so that steps of int8 are not equal; what is beyond 1e12 is cut off there. */
static void put_real(float value)
{
    float size = value < 0.0f ? -value : value;
    uint64_t millionths = (uint64_t)((size < 1e12f ? size : 1e12f) * 1e6f + 0.5f);
    char digits[8] = ".000000";

    for (size_t i = 6; i > 0; i--, millionths /= 10)
        digits[i] = (char)('0' + millionths % 10);
    put_number(value < 0.0f ? "-" : "", millionths, digits);
}

/* One instruction of the board takes 64 ns. The count begins anew each time, so that it does not end. */
static void put_time(void)
{
    static uint64_t instructions;

    instructions += nuc_port_instructions();
    nuc_port_start();
    put_number("m-lap-us-", instructions * 64 / 1000, "\r\n");
}

/* ---- inferences ---- */

static bool is_named(const char *prefix)
{
    return strncmp(NUCLEON_IMAGE, prefix, strlen(prefix)) == 0;
}

static float element(const void *data, size_t i, float scale, int32_t zero_point)
{
    return scale == 0.0f ? ((const float *)data)[i] : (float)(((const int8_t *)data)[i] - zero_point) * scale;
}

#ifdef MODEL_OUTPUT0_SCALE
#define OUTPUT(i) element(model_output0(), i, MODEL_OUTPUT0_SCALE, MODEL_OUTPUT0_ZERO_POINT)
#else
#define OUTPUT(i) element(model_output0(), i, 0.0f, 0)
#endif
#ifdef MODEL_INPUT0_SCALE
#define INPUT(i) element(buffer.bytes, i, MODEL_INPUT0_SCALE, MODEL_INPUT0_ZERO_POINT)
#else
#define INPUT(i) element(buffer.bytes, i, 0.0f, 0)
#endif

static void put_results(void)
{
    float squares = 0.0f;

    nuc_serial_put("m-results-[");
    for (size_t i = 0; i < MODEL_OUTPUT0_ELEMENTS; i++) {
        if (is_named("ad")) {
            float difference = OUTPUT(i) - INPUT(i);
            squares += difference * difference;
        } else {
            nuc_serial_put(i == 0 ? "" : ",");
            put_real(OUTPUT(i));
        }
    }
    if (is_named("ad"))
        put_real(squares / MODEL_OUTPUT0_ELEMENTS);
    nuc_serial_put("]\r\n");
}

/* The memory of the input is used for other values during an inference: each begins with the input. */
static bool run(long count)
{
    struct nuc_detail detail = {.message = "fails"};

    for (long i = 0; i < count; i++) {
        memcpy(model_input0(), buffer.bytes, MODEL_INPUT0_BYTES);
        if (model_run(&detail) != NUC_OK) {
            nuc_serial_put("e-[Inference: ");
            nuc_serial_put(detail.message);
            nuc_serial_put("]\r\n");
            return false;
        }
    }
    return true;
}

static void infer(const char *words)
{
    char *rest;
    long count = strtol(words, &rest, 10);
    char *end;
    long warmups = strtol(rest, &end, 10);

    if (rest == words) /* without numbers one, after ten */
        count = 1;
    if (end == rest)
        warmups = 10;
    if (count <= 0 || warmups < 0) {
        nuc_serial_put(count <= 0 ? "e-[Inference iterations must be >0]\r\n" : "e-[Inference warmup must be >=0]\r\n");
    } else if (buffer.at != MODEL_INPUT0_BYTES) {
        put_number("e-[Input has ", buffer.at, " bytes, ");
        put_number("expected ", MODEL_INPUT0_BYTES, "]\r\n");
    } else {
        put_number("m-warmup-start-", (uint64_t)warmups, "\r\n");
        if (!run(warmups))
            return;
        nuc_serial_put("m-warmup-done\r\n");
        put_number("m-infer-start-", (uint64_t)count, "\r\n");
        put_time();
        if (!run(count))
            return;
        put_time();
        nuc_serial_put("m-infer-done\r\n");
        put_results();
    }
}

/* ---- the buffer ---- */

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c >= 'A' && c <= 'F' ? c + 'a' - 'A' : c);

    return at == NULL ? -1 : (int)(at - digits);
}

static void put_bytes(const char *hex)
{
    uint8_t flip = is_named("ic") || is_named("vww") ? 0x80 : 0;

    if (MODEL_INPUT0_BYTES != MODEL_INPUT0_ELEMENTS)
        flip = 0;
    if (strlen(hex) % 2 != 0) {
        nuc_serial_put("e-[Insufficent number of hex digits]\r\n");
        return;
    }
    for (; *hex != '\0' && buffer.at < buffer.size; hex += 2) {
        int high = digit(hex[0]);
        int low = digit(hex[1]);
        if (high < 0 || low < 0) {
            nuc_serial_put("e-[Invalid hex digit]\r\n");
            return;
        }
        buffer.bytes[buffer.at++] = (uint8_t)(high << 4 | low) ^ flip;
        if (buffer.at == buffer.size)
            nuc_serial_put("m-load-done\r\n");
    }
}

static void show_bytes(void)
{
    for (size_t i = 0; i < buffer.at; i++) {
        char hex[] = {"0123456789abcdef"[buffer.bytes[i] >> 4], "0123456789abcdef"[buffer.bytes[i] & 15], '\0'};
        nuc_serial_put(i % 8 == 0 ? "m-buffer-" : "-");
        nuc_serial_put(hex);
        nuc_serial_put(i % 8 == 7 || i + 1 == buffer.at ? "\r\n" : "");
    }
}

/* What follows the word and a space, NULL when the line does not begin with it. */
static const char *after(const char *line, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(line, word, n) != 0 || (line[n] != ' ' && line[n] != '\0'))
        return NULL;
    return line + n + (line[n] == ' ');
}

static void change_buffer(const char *words)
{
    const char *size = after(words, "load");

    if (*words == '\0') {
        nuc_serial_put("e-[Command 'db' requires a subcommand]\r\n");
    } else if (size != NULL) {
        long n = strtol(size, NULL, 10);
        buffer.at = 0;
        buffer.size = n > 0 && n <= MODEL_INPUT0_BYTES ? (size_t)n : 0;
        if (buffer.size > 0)
            put_number("m-[Expecting ", buffer.size, " bytes]\r\n");
        else
            put_number("e-[Command 'db load' must be >0 and at most ", MODEL_INPUT0_BYTES, " bytes]\r\n");
    } else if (after(words, "print") != NULL) {
        show_bytes();
    } else {
        put_bytes(words);
    }
}

/* ---- commands ---- */

static void execute(const char *line)
{
    const char *words;

    if (after(line, "name") != NULL) {
        nuc_serial_put("m-name-dut-[nucleon]\r\n");
    } else if (after(line, "profile") != NULL) {
        nuc_serial_put("m-profile-[" VERSION "]\r\nm-model-[" NUCLEON_IMAGE "]\r\n");
    } else if (after(line, "timestamp") != NULL) {
        put_time();
    } else if ((words = after(line, "db")) != NULL) {
        change_buffer(words);
    } else if ((words = after(line, "infer")) != NULL) {
        infer(words);
    } else if (after(line, "results") != NULL) {
        put_results();
    } else if (after(line, "help") != NULL) {
        nuc_serial_put(VERSION "\r\n\r\nname\r\nprofile\r\ntimestamp\r\ndb load N\r\ndb HH[HH]*\r\ndb print\r\n"
                               "infer N [W=10]\r\nresults\r\n");
    } else {
        nuc_serial_put("e-[Unknown command: ");
        nuc_serial_put(line);
        nuc_serial_put("]\r\n");
    }
    nuc_serial_put("m-ready\r\n");
}

int nuc_firmware_main(void)
{
    static char line[LINE_BYTES + 1];
    struct nuc_detail detail = {.message = "the NPU's driver does not start"};
    size_t n = 0;

    nuc_serial_start();
#if MODEL_DELEGATES > 0
    if (NUC_NPU_START() != NUC_OK || model_load(&detail) != NUC_OK) {
#else
    if (model_load(&detail) != NUC_OK) {
#endif
        nuc_serial_put(detail.message);
        return 1;
    }
    nuc_serial_put("m-timestamp-mode-performance\r\n");
    put_time();
    nuc_serial_put("m-init-done\r\nm-ready\r\n");
    for (;;) {
        char c = nuc_serial_get();
        if (c == '%') {
            line[n] = '\0';
            n = 0;
            execute(line);
        } else if (c >= ' ' && n < LINE_BYTES) { /* of a longer line the beginning is taken */
            line[n++] = c;
        }
    }
}
