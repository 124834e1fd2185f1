/* Expansions of views, parts, repetitions, copies and fills. */
#include "compiler/passes/expand.h"
