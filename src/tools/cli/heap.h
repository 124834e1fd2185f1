/* Memory of the command from the system. */
#ifndef NUC_TOOLS_CLI_HEAP_H
#define NUC_TOOLS_CLI_HEAP_H

/* Asks for large pages under the heap, where there are any; before other threads. */
void cli_prepare_heap(void);

#endif
