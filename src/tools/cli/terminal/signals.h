/* What happens to temporary files and a converter when a signal ends the command. */
#ifndef NUC_TOOLS_CLI_TERMINAL_SIGNALS_H
#define NUC_TOOLS_CLI_TERMINAL_SIGNALS_H

struct nuc_compiler;

/* From here on, signals that end the process clear away first what compilers have unfinished. */
void cli_handle_signals(void);

/* Between these two the compiler's unfinished work is cleared away when a signal ends the process. */
void cli_watch(struct nuc_compiler *c);
void cli_unwatch(const struct nuc_compiler *c);

#endif
