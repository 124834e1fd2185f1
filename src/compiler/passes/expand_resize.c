/* Expansions of resizing and grid sampling. */
#include "compiler/passes/expand.h"
