#include "tools/report/device.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "archive/json_build.h"
#include "host/call.h"
#include "host/clock.h"
#include "host/text.h"

#define MOST_BYTES ((size_t)64 << 20)
#define SILENCE_MS 60000
#define MOST_NODES 65535
#define MOST_BEGINNINGS 100

static const struct cause {
    const char *word, *finding, *usually;
} causes[] = {
    {"passed", "every node leaves what the simulator computes", ""},
    {"weights", "its microcode, weights or constants are not those that were compiled",
     "flash that was written in part or to another address, another version of the program than of its tables, a "
     "section that start-up code does not copy"},
    {"memory", "its input changed after it had been written",
     "something else writes to the program's buffers: a stack that grows into them, a DMA, another program's buffers "
     "at the same place"},
    {"result", "its inputs and weights are right, its output is not",
     "on the NPU a driver or firmware of another version than the converter, buffers in cached memory, or a write to "
     "the NPU's scratch; on the CPU a kernel that was replaced, or compiled with other flags (-ffast-math)"},
    {"driver", "the driver refuses the program",
     "driver and firmware of another version than the microcode ('nucleon inspect' names its converter), or an NPU "
     "without power or clock"},
    {"stopped", "the call ended with an error", "an NPU that does not answer in time, or memory that is too small"},
    {"image", "the program's checksum does not fit, though every node is right",
     "a damaged byte that no test case reads: write the program again"},
};

enum { N_CAUSES = sizeof causes / sizeof causes[0] };

/* ---- bytes ---- */

static speed_t speed_of(struct nuc_context *cx, unsigned baud)
{
    static const struct {
        unsigned baud;
        speed_t speed;
    } speeds[] = {{9600, B9600},     {19200, B19200},   {38400, B38400},   {57600, B57600},
                  {115200, B115200}, {230400, B230400}, {460800, B460800}, {921600, B921600}};

    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        if (speeds[i].baud == baud)
            return speeds[i].speed;
    }
    nuc_fail(cx, NUC_BAD_USAGE, "--baud %u: take 9600, 19200, 38400, 57600, 115200, 230400, 460800 or 921600", baud);
}

static void set_up_terminal(struct nuc_context *cx, const char *path, int fd, speed_t speed)
{
    struct termios t;

    if (tcgetattr(fd, &t) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be set up: %s", path, strerror(errno));
    t.c_iflag = 0;
    t.c_oflag = 0;
    t.c_lflag = 0;
    t.c_cflag = CS8 | CREAD | CLOCAL;
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    if (cfsetispeed(&t, speed) != 0 || cfsetospeed(&t, speed) != 0 || tcsetattr(fd, TCSANOW, &t) != 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be set up: %s", path, strerror(errno));
}

static void close_port(void *fd)
{
    close(*(const int *)fd);
}

static size_t read_some(struct nuc_context *cx, const char *path, int fd, bool is_terminal, void *to, size_t most)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};

    if (is_terminal && poll(&wait, 1, SILENCE_MS) == 0)
        nuc_fail(cx, NUC_IO,
                 "%s: the device has said nothing for a minute: is it the right port and --baud, and does the firmware "
                 "run its self-test?",
                 path);
    ssize_t n = read(fd, to, most);
    if (n < 0 && errno == EISDIR)
        nuc_fail(cx, NUC_IO, "%s: is a folder: give the file in it that holds what the device printed", path);
    if (n < 0 && errno != EIO) /* the other end of a pty is closed */
        nuc_fail(cx, NUC_IO, "%s: cannot be read: %s", path, strerror(errno));
    return n < 0 ? 0 : (size_t)n;
}

/* Whether a whole line of the text gives the verdict of a self-test; *from is where the next call goes on. */
static bool has_verdict(const char *text, size_t size, size_t *from, bool *begun)
{
    const char *end;

    while ((end = memchr(text + *from, '\n', size - *from)) != NULL) {
        const char *line = text + *from;
        const size_t n = (size_t)(end - line);
        *begun = *begun || (n > 8 && memcmp(line, "selftest", 8) == 0);
        *from += n + 1;
        if (*begun && n >= 4 && (memcmp(line, "PASS", 4) == 0 || memcmp(line, "FAIL", 4) == 0))
            return true;
    }
    return false;
}

/* All that is said until the verdict, NUL-terminated; of a file all. */
static char *read_text(struct nuc_context *cx, const char *path, unsigned baud)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    size_t size = 0, room = 1 << 16, from = 0;
    int *fd = nuc_alloc(cx, sizeof *fd);
    char *text = nuc_alloc(cx, room);
    bool begun = false;
    const speed_t speed = speed_of(cx, baud != 0 ? baud : 115200);

    *fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0)
        nuc_fail(cx, NUC_IO, "%s: cannot be opened: %s: %s", path, strerror(errno),
                 errno == EACCES ? "members of its group can read it ('ls -l')"
                                 : "'ls /dev/tty*' lists ports; or give the file of what one printed");
    nuc_defer(cx, close_port, fd);
    const bool is_terminal = isatty(*fd) == 1;
    const double start = nuc_seconds();
    if (is_terminal)
        set_up_terminal(cx, path, *fd, speed);
    while (!has_verdict(text, size, &from, &begun)) {
        if (size + 1 == room) {
            char *more = nuc_alloc(cx, room *= 2);
            memcpy(more, text, size);
            text = more;
        }
        if (room > MOST_BYTES)
            nuc_fail(cx, NUC_BAD_INPUT, "%s: has more than %zu bytes: a self-test prints far less", path, MOST_BYTES);
        size_t n = read_some(cx, path, *fd, is_terminal, text + size, room - 1 - size);
        if (n == 0)
            break;
        size += n;
        if (is_terminal && !begun && nuc_seconds() - start > SILENCE_MS / 1000)
            nuc_fail(cx, NUC_IO,
                     "%s: the device has begun no self-test for a minute: is it the right port and --baud, and does "
                     "the firmware run one?",
                     path);
    }
    text[size] = '\0';
    char *copy = nuc_copy_out(cx, outer, text, size + 1);
    nuc_pop_arena(cx, outer);
    return copy;
}

/* ---- lines ---- */

struct taking {
    struct nuc_context *cx;
    struct nuc_device_test *t;
    struct nuc_device_node *nodes;
    size_t n_case;
    const struct nuc_device_node *from; /* what wrote an input that changed */
    const char *path;
    unsigned n_beginnings;
    bool begun, over;
};

/* The word at *at, which moves behind it; NULL: there is none. */
static char *word(char **at)
{
    char *begin = *at + strspn(*at, " ");
    size_t n = strcspn(begin, " ");

    if (n == 0)
        return NULL;
    *at = begin[n] != '\0' ? begin + n + 1 : begin + n;
    begin[n] = '\0';
    return begin;
}

static bool number(char **at, int base, unsigned long most, unsigned long *out)
{
    char *text = word(at), *end;

    if (text == NULL || strspn(text, "0123456789abcdef") != strcspn(text, ":"))
        return false;
    errno = 0;
    *out = strtoul(text, &end, base);
    return errno == 0 && end != text && (*end == '\0' || *end == ':') && *out <= most;
}

static bool expect(char **at, const char *text)
{
    char *found = word(at);

    return found != NULL && strcmp(found, text) == 0;
}

static void take_header(struct taking *k, char *at)
{
    unsigned long version, n_nodes, n_cases;

    if (!number(&at, 10, 1, &version))
        return;
    const char *program = word(&at);
    if (program == NULL || !expect(&at, "nodes") || !number(&at, 10, MOST_NODES, &n_nodes) || !expect(&at, "cases") ||
        !number(&at, 10, MOST_NODES, &n_cases))
        return;
    if (k->n_beginnings++ == MOST_BEGINNINGS)
        nuc_fail(k->cx, NUC_BAD_INPUT,
                 "%s: begins a self-test %d times without an end: the device resets under way, look at its supply and "
                 "its watchdog",
                 k->path, MOST_BEGINNINGS);
    *k->t = (struct nuc_device_test){
        .program = nuc_strdup(k->cx, program), .n_cases = n_cases, .n_nodes = n_nodes, .node = n_nodes};
    if (k->nodes == NULL)
        k->nodes = nuc_alloc_array(k->cx, MOST_NODES, sizeof *k->nodes);
    for (size_t i = 0; i < n_nodes; i++)
        k->nodes[i] = (struct nuc_device_node){.number = "?", .name = "?", .label = ""};
    k->t->nodes = k->nodes;
    k->n_case = 0;
    k->begun = true;
}

static struct nuc_device_node *node_at(const struct taking *k, char **at)
{
    unsigned long i;

    return k->begun && k->t->n_nodes > 0 && number(at, 10, k->t->n_nodes - 1, &i) ? &k->nodes[i] : NULL;
}

static void take_node(struct taking *k, char *at)
{
    struct nuc_device_node *n = node_at(k, &at);
    const char *of = n != NULL ? word(&at) : NULL, *where = of != NULL ? word(&at) : NULL;
    const char *name = where != NULL ? word(&at) : NULL;

    if (name == NULL)
        return;
    n->number = nuc_strdup(k->cx, of);
    n->on_npu = strcmp(where, "NPU") == 0;
    n->name = nuc_strdup(k->cx, name);
    n->label = nuc_strdup(k->cx, at);
}

static void take_case(struct taking *k, char *at)
{
    unsigned long n;

    if (number(&at, 10, MOST_NODES, &n))
        k->n_case = n;
}

static void take_equal(struct taking *k, char *at)
{
    struct nuc_device_node *n = node_at(k, &at);

    if (n != NULL)
        n->n_equal++;
}

static void take_difference(struct taking *k, char *at)
{
    struct nuc_device_node *n = node_at(k, &at);
    unsigned long sum, expected;

    if (n == NULL || n->differs || !number(&at, 16, UINT32_MAX, &sum) || !number(&at, 16, UINT32_MAX, &expected))
        return;
    n->differs = true;
    n->n_case = k->n_case;
    n->sum = (uint32_t)sum;
    n->expected = (uint32_t)expected;
}

static void end(struct taking *k, const struct cause *cause)
{
    if (!k->begun)
        return;
    k->t->passed = cause == causes;
    k->t->cause = cause->word;
    k->t->finding = cause->finding;
    if (k->from != NULL)
        k->t->finding = nuc_format(k->cx, "its input changed after %s (%s) had written it",
                                   k->from->label[0] != '\0' ? k->from->label : k->from->name, k->from->number);
    if (k->t->code != 0)
        k->t->finding = nuc_format(k->cx, "%s, code 0x%x", k->t->finding, k->t->code);
    k->t->usually = cause->usually;
    const struct nuc_device_node *n = k->t->node < k->t->n_nodes ? &k->nodes[k->t->node] : NULL;
    const char *at = n == NULL ? ""
                               : nuc_format(k->cx, " at %s, %s %s%s%s", n->number, n->on_npu ? "NPU" : "CPU", n->name,
                                            n->label[0] != '\0' ? ", " : "", n->label);
    k->t->verdict = nuc_format(k->cx, "%s: %s%s: %s", k->t->program, k->t->passed ? "PASS" : "FAIL", at, k->t->finding);
    k->over = true;
}

/* A device that has compared nothing has not passed. */
static void take_pass(struct taking *k, char *at)
{
    (void)at;
    for (size_t i = 0; k->begun && i < k->t->n_nodes; i++) {
        if (k->nodes[i].n_equal > 0) {
            end(k, causes);
            return;
        }
    }
}

static void take_failure(struct taking *k, char *at)
{
    const char *cause = word(&at), *what;
    size_t i = 1;
    unsigned long value;

    while (cause != NULL && i < N_CAUSES && strcmp(causes[i].word, cause) != 0)
        i++;
    if (cause == NULL || i == N_CAUSES)
        return;
    k->from = NULL;
    while ((what = word(&at)) != NULL) {
        struct nuc_device_node *n = NULL;
        if (strcmp(what, "code") == 0 && number(&at, 16, UINT32_MAX, &value))
            k->t->code = (uint32_t)value;
        else if (strcmp(what, "from") == 0)
            k->from = node_at(k, &at);
        else if (strcmp(what, "node") == 0 && (n = node_at(k, &at)) != NULL)
            k->t->node = (size_t)(n - k->nodes);
        if (n != NULL)
            break; /* the rest is its name */
    }
    end(k, &causes[i]);
}

static void take_line(struct taking *k, char *line)
{
    static const struct {
        const char *word;
        void (*take)(struct taking *k, char *rest);
    } lines[] = {{"selftest", take_header}, {"node", take_node},          {"case", take_case}, {"ok", take_equal},
                 {"bad", take_difference},  {"changed", take_difference}, {"PASS", take_pass}, {"FAIL", take_failure}};
    char *rest = line;
    const char *first = word(&rest);

    for (size_t i = 0; first != NULL && i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(first, lines[i].word) == 0)
            lines[i].take(k, rest);
    }
}

const struct nuc_device_test *nuc_device_parse(struct nuc_context *cx, const char *path, char *text)
{
    struct nuc_device_test *t = nuc_alloc(cx, sizeof *t);
    struct taking k = {.cx = cx, .t = t, .path = path};

    for (char *line = text, *next; line != NULL && !k.over; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        for (char *c = line; *c != '\0'; c++)
            *c = *c >= ' ' && *c < 127 ? *c : *c == '\r' ? ' ' : '?';
        take_line(&k, line);
    }
    if (!k.begun)
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: holds no self-test: give the port of a device that runs one, or what it printed "
                 "(docs/firmware.md, \"Self-test\")",
                 path);
    if (!k.over)
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: ends before a node that is right and PASS, or FAIL: the device stopped, or the log was cut off: "
                 "read it again",
                 path);
    return t;
}

const struct nuc_device_test *nuc_device_take(struct nuc_context *cx, const char *path, unsigned baud)
{
    return nuc_device_parse(cx, path, read_text(cx, path, baud));
}

/* ---- text and JSON ---- */

static const char *state_of(struct nuc_context *cx, const struct nuc_device_test *t, size_t i)
{
    const struct nuc_device_node *n = &t->nodes[i];

    if (i == t->node && !n->differs)
        return "FAILS";
    if (n->differs)
        return nuc_format(cx, "DIFFERS in case %zu", n->n_case);
    return n->n_equal == 0 ? "-" : n->n_equal == 1 ? "equal" : nuc_format(cx, "equal %zu times", n->n_equal);
}

/* Of 80 columns; names and labels as in the table of a profile. */
static const char *text_of(struct nuc_context *cx, const struct nuc_device_test *t)
{
    enum { NUMBER = 6, WHERE = 3, NAME = 25, LABEL = 23 };
    struct nuc_text out = {.cx = cx};

    nuc_text_addf(&out, "%-*s %-*s %-*s %-*s %s\n", NUMBER, "no.", WHERE, "on", NAME, "operator or kernel", LABEL,
                  "label", "self-test");
    for (size_t i = 0; i < t->n_nodes; i++) {
        const struct nuc_device_node *n = &t->nodes[i];
        const char *scope = strstr(n->name, "::");
        nuc_text_add_column(&out, n->number, NUMBER, NUMBER - 2);
        nuc_text_add_column(&out, n->on_npu ? "NPU" : "CPU", WHERE, WHERE - 2);
        nuc_text_add_column(&out, scope != NULL ? scope + 2 : n->name, NAME, NAME - 2);
        nuc_text_add_column(&out, n->label[0] != '\0' ? n->label : "-", LABEL, (LABEL - 2) / 2);
        nuc_text_addf(&out, "%s\n", state_of(cx, t, i));
    }
    if (t->node < t->n_nodes && t->nodes[t->node].differs)
        nuc_text_addf(&out, "\nno. %s leaves CRC-32 %08x, not %08x\n", t->nodes[t->node].number, t->nodes[t->node].sum,
                      t->nodes[t->node].expected);
    return nuc_text_string(&out);
}

void nuc_device_put(struct nuc_context *cx, json_t *to, const struct nuc_device_test *t)
{
    nuc_put_text(cx, to, "program", t->program);
    nuc_put_bool(cx, to, "passed", t->passed);
    nuc_put_count(cx, to, "test_cases", t->n_cases);
    nuc_put_text(cx, to, "cause", t->cause);
    nuc_put_text(cx, to, "finding", t->finding);
    nuc_put_text(cx, to, "usually", t->usually);
    nuc_put_known_count(cx, to, "node", t->node < t->n_nodes, t->node);
    nuc_put_count(cx, to, "code", t->code);
    json_t *nodes = nuc_put_array(cx, to, "nodes");
    for (size_t i = 0; i < t->n_nodes; i++) {
        const struct nuc_device_node *n = &t->nodes[i];
        json_t *o = nuc_put_object(cx, nodes, NULL);
        nuc_put_text(cx, o, "number", n->number);
        nuc_put_text(cx, o, "where", n->on_npu ? "npu" : "cpu");
        nuc_put_text(cx, o, "name", n->name);
        nuc_put_text(cx, o, "label", n->label[0] != '\0' ? n->label : NULL);
        nuc_put_count(cx, o, "equal", n->n_equal);
        nuc_put_bool(cx, o, "differs", n->differs);
    }
}

enum nuc_status nuc_device_read(struct nuc_compiler *c, const char *path, unsigned baud,
                                const struct nuc_device_test **out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, path != NULL && out != NULL);
        *out = nuc_device_take(nuc_context_of(c), path, baud);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_device_text(struct nuc_compiler *c, const struct nuc_device_test *t, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, t != NULL && text != NULL);
        *text = text_of(nuc_context_of(c), t);
    }
    return nuc_leave(&call);
}

enum nuc_status nuc_device_json(struct nuc_compiler *c, const struct nuc_device_test *t, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, t != NULL && text != NULL);
        json_t *tree = nuc_json_tree(nuc_context_of(c));
        nuc_device_put(nuc_context_of(c), tree, t);
        *text = nuc_json_text(nuc_context_of(c), tree);
    }
    return nuc_leave(&call);
}
