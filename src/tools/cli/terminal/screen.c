/* What only a terminal gets: colours, and a line that says how far a long step is. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/terminal/cli.h"
#include "tools/cli/terminal/json_output.h"

static bool is_quiet;
static enum cli_color when;

bool cli_is_quiet(void)
{
    return is_quiet;
}

/* ---- colours ---- */

/* One that can do more than print. */
static bool is_terminal(FILE *to)
{
    const char *term = getenv("TERM");

    return term != NULL && strcmp(term, "dumb") != 0 && isatty(fileno(to)) != 0;
}

/* https://no-color.org: set to anything but nothing. */
static bool has_colors(FILE *to)
{
    const char *no_color = getenv("NO_COLOR");

    if (when != CLI_COLOR_AUTO)
        return when == CLI_COLOR_ALWAYS;
    return (no_color == NULL || *no_color == '\0') && is_terminal(to);
}

void cli_style(FILE *to, enum cli_style style)
{
    static const char *const codes[] = {
        [CLI_PLAIN] = "0", [CLI_HEADING] = "1", [CLI_ERROR] = "1;31",
        [CLI_NOTE] = "33", [CLI_NPU] = "32",    [CLI_CPU] = "36",
    };

    if (has_colors(to) && !(to == stdout && cli_is_json()))
        fprintf(to, "\033[%sm", codes[style]);
}

/* ---- progress ---- */

enum { BAR = 20, MILLISECONDS = 100 };
#define A_MOMENT 0.5
#define PAUSE 0.2 /* after something was printed: more may follow */

/*
 * The step under way. A thread draws its line, so that it goes on while the work does not report; it is started with
 * the first step on a terminal and ends with the process, unless cli_draw_alone() was called before.
 */
static struct {
    pthread_mutex_t lock;
    bool drawing; /* a step was begun, or the line is drawn alone */
    bool alone;   /* there is no thread: the line is drawn when the work reports */
    char what[32];
    size_t done, total;
    double began, printed, drawn;
    bool active, shown;
} line = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void time_text(double seconds, char *text, size_t size)
{
    unsigned long s = (unsigned long)(seconds + 0.5);

    if (s < 60)
        snprintf(text, size, "%lu s", s);
    else if (s < 3600)
        snprintf(text, size, "%lu min %02lu s", s / 60, s % 60);
    else
        snprintf(text, size, "%lu h %02lu min", s / 3600, s / 60 % 60);
}

static void rate_text(double rate, char *text, size_t size)
{
    if (rate >= 10)
        snprintf(text, size, "%.0f/s", rate);
    else if (rate >= 1)
        snprintf(text, size, "%.1f/s", rate);
    else
        snprintf(text, size, "%.1f s each", 1 / rate);
}

/* "calibrate  [#####.....]  120/360  33 %  85/s  3 s left". */
static void line_text(double elapsed, char *text, size_t size)
{
    char time[32], rate[32];

    time_text(elapsed, time, sizeof time);
    size_t n = (size_t)snprintf(text, size, "%-18s ", line.what);
    if (line.total == 0) {
        snprintf(text + n, size - n, "%s", time);
        return;
    }
    int filled = (int)(line.done * BAR / line.total);
    n += (size_t)snprintf(text + n, size - n, "[%.*s%.*s] %zu/%zu %3zu %%", filled, "####################",
                          BAR - filled, "....................", line.done, line.total, line.done * 100 / line.total);
    if (line.done == 0)
        return;
    rate_text((double)line.done / elapsed, rate, sizeof rate);
    time_text((double)(line.total - line.done) * elapsed / (double)line.done, time, sizeof time);
    snprintf(text + n, size - n, "  %s  %s left", rate, time);
}

static size_t terminal_columns(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col : 80;
}

/* In one write, so that it does not mix with what others print. */
static void put_line(const char *text)
{
    char out[160];
    int length =
        snprintf(out, sizeof out, "\r%.*s\033[K%s", (int)(terminal_columns() - 1 < 120 ? terminal_columns() - 1 : 120),
                 text, *text == '\0' ? "" : "\r");

    if (length > 0 && write(STDERR_FILENO, out, (size_t)length) < 0)
        line.active = false;
}

static void draw(void)
{
    char text[128];
    double time = now(), elapsed = time - line.began;

    if (!line.active || elapsed < A_MOMENT || time - line.printed < PAUSE ||
        (line.alone && time - line.drawn < MILLISECONDS / 1e3))
        return;
    line.drawn = time;
    line_text(elapsed, text, sizeof text);
    put_line(text);
    line.shown = line.active;
}

static void *draw_on(void *unused)
{
    const struct timespec pause = {.tv_nsec = MILLISECONDS * 1000000L};

    (void)unused;
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&line.lock);
        draw();
        pthread_mutex_unlock(&line.lock);
    }
    return NULL;
}

/* A new step when it has another name, or begins anew. */
void cli_progress(void *user, const char *what, size_t done, size_t total)
{
    (void)user;
    if (is_quiet || !is_terminal(stderr))
        return;
    if (!line.drawing) {
        sigset_t all, before;
        pthread_t thread;
        /* Signals go to the thread that works. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        line.drawing = true;
        line.alone = pthread_create(&thread, NULL, draw_on, NULL) != 0;
        if (!line.alone)
            pthread_detach(thread);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_mutex_lock(&line.lock);
    if (!line.active || strcmp(line.what, what) != 0 || done < line.done) {
        snprintf(line.what, sizeof line.what, "%s", what);
        line.began = now();
    }
    line.done = done;
    line.total = total;
    line.active = true;
    if (line.alone)
        draw();
    pthread_mutex_unlock(&line.lock);
    if (total > 0 && done >= total)
        cli_end_progress();
}

void cli_draw_alone(void)
{
    line.drawing = line.alone = true;
}

void cli_hide_progress(void)
{
    if (!line.drawing)
        return;
    pthread_mutex_lock(&line.lock);
    if (line.shown)
        put_line("");
    line.shown = false;
    line.printed = now();
    pthread_mutex_unlock(&line.lock);
}

void cli_end_progress(void)
{
    if (!line.drawing)
        return;
    pthread_mutex_lock(&line.lock);
    line.active = false;
    pthread_mutex_unlock(&line.lock);
    cli_hide_progress();
}

void cli_set_screen(bool quiet, enum cli_color color)
{
    is_quiet = quiet;
    when = color;
}
