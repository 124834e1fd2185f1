/* Made by nucleon codegen. The program as C: static tables and arrays of @NAME@.c. */
#include "inference.h"

#if @UPPER@_DELEGATES > 0
#include "nucleon/runtime.h"
#endif

enum nuc_status inference_load(struct nuc_detail *detail)
{
#if @UPPER@_DELEGATES > 0
    if (NUC_NPU_START() != NUC_OK) {
        *detail = (struct nuc_detail){.message = "the NPU's driver does not start"};
        return NUC_DEVICE;
    }
#endif
    return @NAME@_load(detail);
}

size_t inference_inputs(void)
{
    return @INPUTS@;
}

size_t inference_outputs(void)
{
    return @OUTPUTS@;
}

struct tensor inference_input(size_t index)
{
    switch (index) {
@INPUT_CASES@
    default:
        return (struct tensor){NULL, 0};
    }
}

enum nuc_status inference_run(struct nuc_detail *detail)
{
    return @NAME@_run(detail);
}

size_t inference_states(void)
{
    return @STATES_BYTES@;
}

#if @STATES_BYTES@ > 0
void inference_reset(void)
{
    @NAME@_reset();
}

void inference_save(void *to)
{
    @NAME@_save(to);
}

void inference_restore(const void *from)
{
    @NAME@_restore(from);
}
#else
void inference_reset(void)
{
}

void inference_save(void *to)
{
    (void)to;
}

void inference_restore(const void *from)
{
    (void)from;
}
#endif

#ifdef @UPPER@_FOUND
const struct nuc_decider *inference_decide(void)
{
    return @NAME@_decide();
}
#endif

struct tensor inference_output(size_t index)
{
    switch (index) {
@OUTPUT_CASES@
    default:
        return (struct tensor){NULL, 0};
    }
}

/* ---- updates ---- */

enum nuc_status inference_update_begin(struct nuc_detail *detail)
{
    *detail = (struct nuc_detail){.message = "the program is linked in as C"};
    return NUC_UNSUPPORTED;
}

enum nuc_status inference_update_write(const void *data, size_t size, struct nuc_detail *detail)
{
    (void)data;
    (void)size;
    return inference_update_begin(detail);
}

enum nuc_status inference_update_finish(struct nuc_detail *detail)
{
    return inference_update_begin(detail);
}

uint32_t inference_version(void)
{
    return 0;
}
