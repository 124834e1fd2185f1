/* Expansions of recurrent cells. */
#include "compiler/passes/expand.h"
