/*
 * Runs a LiteRT model by LiteRT Micro on samples of its first input, as firmware/runner runs a program: the same words,
 * files and lines. MICRO_OPERATORS are calls of the resolver, of the model's operators alone.
 */
#include <new>

#include "tensorflow/lite/micro/debug_log.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/schema/schema_generated.h"

extern "C" {
#include "port/port.h"
#include "port/print.h"
extern const unsigned char micro_model[];
int nuc_firmware_main(void);
}

#include "operators.h"

/* Texts of errors are left out, and nothing is allocated. */
extern "C" void DebugLog(const char *, va_list)
{
}
extern "C" void abort(void)
{
    for (;;)
        continue;
}
void operator delete(void *) noexcept
{
}
void operator delete(void *, size_t) noexcept
{
}

static int failed(const char *what)
{
    nuc_port_print("runner: LiteRT Micro: ");
    nuc_port_print(what);
    nuc_port_print("\n");
    return 1;
}

int nuc_firmware_main(void)
{
    const char *words[3] = {nullptr, nullptr, nullptr};
    size_t n_words = nuc_port_arguments(words, 3), size;
    uint8_t *memory = static_cast<uint8_t *>(nuc_port_memory(&size));
    int in = n_words > 1 ? nuc_port_open(words[1], 0) : -1, out = n_words > 2 ? nuc_port_open(words[2], 1) : -1;

    if ((n_words > 1 && in < 0) || (n_words > 2 && out < 0))
        return failed("a file cannot be opened");
    /* Nothing is destroyed. */
    using Resolver = tflite::MicroMutableOpResolver<MICRO_N_OPERATORS>;
    alignas(Resolver) static unsigned char resolver_place[sizeof(Resolver)];
    alignas(tflite::MicroInterpreter) static unsigned char interpreter_place[sizeof(tflite::MicroInterpreter)];
    auto &resolver = *new (resolver_place) Resolver;
    MICRO_OPERATORS
    auto &interpreter =
        *new (interpreter_place) tflite::MicroInterpreter(tflite::GetModel(micro_model), resolver, memory, size);
    if (interpreter.AllocateTensors() != kTfLiteOk)
        return failed("AllocateTensors() fails");
    nuc_print_line("memory: planned ", static_cast<int64_t>(interpreter.arena_used_bytes()),
                   ", temporary 0, state 0\n");
    TfLiteTensor *input = interpreter.input(0), *output = interpreter.output(0);
    for (int count = 0; count == 0 || in >= 0; count++) {
        if (in >= 0 && nuc_port_read(in, input->data.raw, input->bytes) != input->bytes)
            break;
        uint32_t start = nuc_port_instructions();
        if (interpreter.Invoke() != kTfLiteOk)
            return failed("Invoke() fails");
        if (count == 0)
            nuc_print_line("execution instructions ", static_cast<int64_t>(nuc_port_instructions() - start), "\n");
        if (out >= 0 && nuc_port_write(out, output->data.raw, output->bytes) != 0)
            return 1;
    }
    return 0;
}
