/* A loaded method in the caller's state memory, and the steps that fill it. */
#ifndef NUC_DEVICE_RUNTIME_LOADER_H
#define NUC_DEVICE_RUNTIME_LOADER_H

#include "device/runtime/image.h"

struct nuc_loaded_delegate {
    const struct nuc_backend *backend;
    void *state;
    uint8_t *scratch; /* in planned memory, NULL: none is planned */
};

struct nuc_delegates {
    enum nuc_status (*sizes)(struct nuc_image *im, const struct nuc_backend_table *backends,
                             struct nuc_program_sizes *out);
    enum nuc_status (*load)(struct nuc_program *p, struct nuc_image *im, const struct nuc_backend_table *backends,
                            size_t state_at);
};

struct nuc_instruction {
    union {
        struct {
            const uint8_t *args; /* value indices, little-endian 32-bit, checked, after their number */
            union {
                const struct nuc_kernel_entry *kernel;
                const struct nuc_loaded_delegate *delegate;
            } of;
        } call;
        struct {
            uint32_t from, to; /* values; a free has `from` alone */
        } move;
        struct {
            uint32_t condition, target; /* value, instruction; the target lies ahead */
        } jump;
    } u;
    uint8_t kind; /* enum nuc_instruction_kind */
};

static inline uint32_t nuc_call_n_args(const struct nuc_instruction *in)
{
    return nuc_load_u32(in->u.call.args - 4);
}

static inline uint32_t nuc_call_arg(const struct nuc_instruction *in, uint32_t i)
{
    return nuc_load_u32(in->u.call.args + 4 * (size_t)i);
}

/*
 * Values stay in the image. The state has the kind of each and a place: of a scalar the offset of its number (0: the
 * format's default, zero), of a tensor or list that of its table. A tensor that the caller places has a slot instead.
 */
struct nuc_slot {
    void *data; /* NULL: not given */
    uint32_t table;
};

/* The entry of the initial data of value `index` of a loaded program when it is a state; 0: it is none. */
uint32_t nuc_initial_of(const struct nuc_program *p, uint32_t index);

#define NUC_KIND_OF_SLOT 0x80 /* or'ed to NUC_VALUE_TENSOR in nuc_program.kinds: the place is an index of slots */

static inline uint8_t nuc_value_kind_of(const struct nuc_program *p, uint32_t index)
{
    return p->kinds[index] & (uint8_t)~NUC_KIND_OF_SLOT;
}

/* The bytes of an int, bool or double of a loaded program: as many as its kind has. */
static inline const uint8_t *nuc_scalar_place(const struct nuc_program *p, size_t index)
{
    static const uint8_t zero[8];

    return p->places[index] != 0 ? p->image + p->places[index] : zero;
}

/* Value `index`, which has been checked, from the image, of a list no tensors. False: a tensor without its data. */
bool nuc_value_read(const struct nuc_program *p, uint32_t index, struct nuc_value *out);

/* The element type of a scalar type of the format, NUC_DTYPE_COUNT: none of ours. */
enum nuc_dtype nuc_dtype_of_scalar_type(int8_t scalar_type);

/* Type and shape of value `index` when it is a tensor: *is_tensor. Its data stays NULL. */
bool nuc_read_shape(struct nuc_image *im, uint32_t index, struct nuc_tensor *out, bool *is_tensor);

/* Whether the tensor of that table is neither planned nor a constant: the caller places it. */
bool nuc_is_of_caller(struct nuc_image *im, struct nuc_fb_table t);

/* Element bytes of a list kind; 1 for strings and bools. */
uint32_t nuc_list_item_size(uint8_t kind);

/* Checks all values, and notes kinds, places and slots. */
enum nuc_status nuc_load_values(struct nuc_program *p, struct nuc_image *im);

/* Whether each argument of the kernel call is what its operator accepts; notes the message when one is not. */
enum nuc_status nuc_check_call(const struct nuc_program *p, const struct nuc_instruction *in,
                               struct nuc_detail *detail);

/* Parses all instructions, resolves operators and checks their calls. Values and delegates are loaded. */
enum nuc_status nuc_load_instructions(struct nuc_program *p, struct nuc_image *im,
                                      const struct nuc_kernel_table *kernels);

#endif
