/* Expansions of choice by values: gathering, scattering, embeddings. */
#include "compiler/passes/expand.h"
