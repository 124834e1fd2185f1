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

/* https://no-color.org: set to anything but nothing. */
static bool has_colors(FILE *to)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    if (when != CLI_COLOR_AUTO)
        return when == CLI_COLOR_ALWAYS;
    if ((no_color != NULL && *no_color != '\0') || term == NULL || strcmp(term, "dumb") == 0)
        return false;
    return isatty(fileno(to)) != 0;
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

void cli_heading(const char *text)
{
    cli_style(stdout, CLI_HEADING);
    cli_put(text);
    cli_style(stdout, CLI_PLAIN);
    cli_put("\n");
}

/* ---- progress ---- */

enum { BAR = 20, MILLISECONDS = 100 };
#define A_MOMENT 0.5
#define PAUSE 0.2 /* after something was printed: more may follow */

/*
 * The step under way. A thread draws its line, so that it goes on while the work does not report; it is started with
 * the first step on a terminal and ends with the process.
 */
static struct {
    pthread_mutex_t lock;
    bool drawing; /* a step was begun */
    bool alone;   /* no thread could be started: the line is drawn when the work reports */
    char what[32];
    size_t done, total;
    double began, printed, drawn;
    bool active, shown;
} step = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
    size_t n = (size_t)snprintf(text, size, "%-18s ", step.what);
    if (step.total == 0) {
        snprintf(text + n, size - n, "%s", time);
        return;
    }
    int filled = (int)(step.done * BAR / step.total);
    n += (size_t)snprintf(text + n, size - n, "[%.*s%.*s] %zu/%zu %3zu %%", filled, "####################",
                          BAR - filled, "....................", step.done, step.total, step.done * 100 / step.total);
    if (step.done == 0)
        return;
    rate_text((double)step.done / elapsed, rate, sizeof rate);
    time_text((double)(step.total - step.done) * elapsed / (double)step.done, time, sizeof time);
    snprintf(text + n, size - n, "  %s  %s left", rate, time);
}

static size_t columns(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col : 80;
}

/* In one write, so that it does not mix with what others print. */
static void put_line(const char *text)
{
    char out[160];
    int length = snprintf(out, sizeof out, "\r%.*s\033[K%s", (int)(columns() - 1 < 120 ? columns() - 1 : 120), text,
                          *text == '\0' ? "" : "\r");

    if (length > 0 && write(STDERR_FILENO, out, (size_t)length) < 0)
        step.active = false;
}

static void draw(void)
{
    char text[128];
    double time = now(), elapsed = time - step.began;

    if (!step.active || elapsed < A_MOMENT || time - step.printed < PAUSE ||
        (step.alone && time - step.drawn < MILLISECONDS / 1e3))
        return;
    step.drawn = time;
    line_text(elapsed, text, sizeof text);
    put_line(text);
    step.shown = step.active;
}

static void *draw_on(void *unused)
{
    const struct timespec pause = {.tv_nsec = MILLISECONDS * 1000000L};

    (void)unused;
    for (;;) {
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&step.lock);
        draw();
        pthread_mutex_unlock(&step.lock);
    }
    return NULL;
}

static void start_drawing(void)
{
    sigset_t all, before;
    pthread_t thread;

    /* Signals go to the thread that works. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    step.drawing = true;
    step.alone = pthread_create(&thread, NULL, draw_on, NULL) != 0;
    if (!step.alone)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static bool is_terminal(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) != 0 && term != NULL && strcmp(term, "dumb") != 0;
}

/* A new step when it has another name, or begins anew. */
void cli_progress(void *user, const char *what, size_t done, size_t total)
{
    (void)user;
    if (is_quiet || !is_terminal())
        return;
    if (!step.drawing)
        start_drawing();
    pthread_mutex_lock(&step.lock);
    if (!step.active || strcmp(step.what, what) != 0 || done < step.done) {
        snprintf(step.what, sizeof step.what, "%s", what);
        step.began = now();
    }
    step.done = done;
    step.total = total;
    step.active = true;
    if (step.alone)
        draw();
    pthread_mutex_unlock(&step.lock);
    if (total > 0 && done >= total)
        cli_end_progress();
}

void cli_hide_progress(void)
{
    if (!step.drawing)
        return;
    pthread_mutex_lock(&step.lock);
    if (step.shown)
        put_line("");
    step.shown = false;
    step.printed = now();
    pthread_mutex_unlock(&step.lock);
}

void cli_end_progress(void)
{
    if (!step.drawing)
        return;
    pthread_mutex_lock(&step.lock);
    step.active = false;
    pthread_mutex_unlock(&step.lock);
    cli_hide_progress();
}

void cli_set_screen(bool quiet, enum cli_color color)
{
    is_quiet = quiet;
    when = color;
}
