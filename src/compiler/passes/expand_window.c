/* Expansions of pooling, padding and sliding windows. */
#include "compiler/passes/expand.h"
