/* Core operators of decomposed archives: the operators of a model that they stand for. */
#include "compiler/passes/expand.h"
