#include "archive/bundle.h"

#include <string.h>

#include "archive/program_view.h"
#include "device/base/flatbuf.h"
#include "host/flatbuilder.h"

/* ---- reading ---- */

struct reader {
    struct nuc_context *cx;
    const char *path;
    struct nuc_fb_reader r;
    /* What may still be taken: tables can be shared in a FlatBuffer, and a small file stand for enormous lists. */
    uint64_t budget;
};

static void check(const struct reader *f, bool holds, const char *what)
{
    if (!holds || f->r.bad)
        nuc_fail(f->cx, NUC_BAD_INPUT, "%s: the bundled program is damaged: %s: write it again with 'nucleon compile'",
                 f->path, what);
}

static struct nuc_bundle_tensor read_tensor(struct reader *f, struct nuc_fb_table t)
{
    struct nuc_bundle_tensor out = {.dtype = nuc_view_dtype(nuc_fb_i8(&f->r, t, NUC_BUNDLED_SCALAR_TYPE, 0))};
    struct nuc_fb_vector sizes = nuc_fb_vec(&f->r, t, NUC_BUNDLED_SIZES, 4);
    struct nuc_fb_vector order = nuc_fb_vec(&f->r, t, NUC_BUNDLED_DIM_ORDER, 1);
    unsigned seen = 0;

    out.data = nuc_fb_bytes(&f->r, t, NUC_BUNDLED_DATA);
    check(f, out.dtype < NUC_DTYPE_COUNT, "a tensor has an element type that does not exist");
    check(f, sizes.count <= NUC_MAX_RANK && order.count == sizes.count, "a tensor has another number of dimensions");
    uint64_t bytes = nuc_dtype_size(out.dtype);
    out.rank = sizes.count;
    for (uint32_t d = 0; d < out.rank; d++) {
        out.sizes[d] = nuc_fb_vec_i32(&f->r, sizes, d);
        out.dim_order[d] = nuc_fb_vec_u8(&f->r, order, d);
        check(f, out.sizes[d] >= 0 && out.dim_order[d] < out.rank, "a tensor has a size or dim order that is none");
        seen |= 1U << out.dim_order[d];
        bytes = bytes <= UINT32_MAX ? bytes * (uint32_t)out.sizes[d] : bytes;
    }
    check(f, seen == (1U << out.rank) - 1, "a tensor has a dim order that is none");
    check(f, bytes == out.data.size, "a tensor has another number of bytes than its sizes say");
    return out;
}

static const struct nuc_bundle_tensor *read_values(struct reader *f, struct nuc_fb_table t, int id, uint32_t *count)
{
    struct nuc_fb_vector list = nuc_fb_vec(&f->r, t, id, 4);

    check(f, list.count <= f->budget, "its lists hold more than the file");
    f->budget -= list.count;
    struct nuc_bundle_tensor *out = nuc_alloc_array(f->cx, list.count, sizeof *out);
    for (uint32_t i = 0; i < list.count; i++) {
        struct nuc_fb_table value = nuc_fb_vec_table(&f->r, list, i);
        uint8_t kind = nuc_fb_u8(&f->r, value, NUC_BUNDLED_TYPE, 0);
        check(f, kind >= NUC_BUNDLED_TENSOR && kind <= NUC_BUNDLED_DOUBLE, "a value is of no kind");
        if (kind != NUC_BUNDLED_TENSOR)
            nuc_fail(f->cx, NUC_UNSUPPORTED,
                     "%s: a case has a number where nucleon takes tensors: bundle a program whose inputs and outputs "
                     "are tensors",
                     f->path);
        out[i] = read_tensor(f, nuc_fb_sub(&f->r, value, NUC_BUNDLED_VALUE));
    }
    *count = list.count;
    return out;
}

bool nuc_is_bundle(struct nuc_span file)
{
    return file.size >= 8 && memcmp(file.data + 4, NUC_BUNDLE_IDENTIFIER, 4) == 0;
}

static struct nuc_fb_table root_of(struct reader *f, struct nuc_context *cx, const char *path, struct nuc_span file)
{
    *f = (struct reader){.cx = cx, .path = path, .r = {.bytes = file}, .budget = file.size / 4};
    check(f, nuc_is_bundle(file), "it does not begin as one");
    struct nuc_fb_table root = nuc_fb_root(&f->r, 0);
    check(f, root.at != 0, "it has no root");
    return root;
}

struct nuc_span nuc_bundled_program(struct nuc_context *cx, const char *path, struct nuc_span file)
{
    struct reader f;

    if (!nuc_is_bundle(file))
        return file;
    struct nuc_fb_table root = root_of(&f, cx, path, file);
    struct nuc_span program = nuc_fb_bytes(&f.r, root, NUC_BUNDLE_PROGRAM);
    check(&f, program.size >= 8 && memcmp(program.data + 4, NUC_PROGRAM_IDENTIFIER, 4) == 0, "it holds no program");
    return program;
}

const struct nuc_bundle *nuc_bundle_read(struct nuc_context *cx, const char *path, struct nuc_span file)
{
    struct reader f;
    struct nuc_fb_table root = root_of(&f, cx, path, file);
    struct nuc_bundle *b = nuc_alloc(cx, sizeof *b);
    struct nuc_fb_vector suites = nuc_fb_vec(&f.r, root, NUC_BUNDLE_SUITES, 4);

    b->program = nuc_bundled_program(cx, path, file);
    b->method = "forward";
    if (suites.count == 0)
        return b;
    struct nuc_fb_table suite = nuc_fb_vec_table(&f.r, suites, 0);
    const char *method = nuc_fb_string(&f.r, suite, NUC_SUITE_METHOD, NULL);
    struct nuc_fb_vector cases = nuc_fb_vec(&f.r, suite, NUC_SUITE_CASES, 4);
    check(&f, method != NULL && cases.count <= f.budget, "its test cases lie outside the file");
    struct nuc_bundle_case *list = nuc_alloc_array(cx, cases.count, sizeof *list);
    for (uint32_t i = 0; i < cases.count; i++) {
        struct nuc_fb_table t = nuc_fb_vec_table(&f.r, cases, i);
        list[i].inputs = read_values(&f, t, NUC_CASE_INPUTS, &list[i].n_inputs);
        list[i].outputs = read_values(&f, t, NUC_CASE_OUTPUTS, &list[i].n_outputs);
        check(&f, true, "a test case lies outside the file");
    }
    b->method = method;
    b->n_cases = cases.count;
    b->cases = list;
    return b;
}

/* ---- writing ---- */

static nuc_fb_ref write_value(struct nuc_fb_builder *b, const struct nuc_bundle_tensor *t)
{
    nuc_fb_ref sizes = nuc_fb_add_vector(b, t->sizes, t->rank, 4, 4);
    nuc_fb_ref data = nuc_fb_add_vector(b, t->data.data, t->data.size, 1, NUC_BUNDLE_DATA_ALIGNMENT);
    nuc_fb_ref order = nuc_fb_add_vector(b, t->dim_order, t->rank, 1, 1);

    nuc_fb_table_begin(b);
    int8_t type = 0;
    while (nuc_view_dtype(type) != t->dtype)
        type++;
    nuc_fb_put_i8(b, NUC_BUNDLED_SCALAR_TYPE, type, 0);
    nuc_fb_put_ref(b, NUC_BUNDLED_SIZES, sizes);
    nuc_fb_put_ref(b, NUC_BUNDLED_DATA, data);
    nuc_fb_put_ref(b, NUC_BUNDLED_DIM_ORDER, order);
    nuc_fb_ref tensor = nuc_fb_table_end(b);
    nuc_fb_table_begin(b);
    nuc_fb_put_u8(b, NUC_BUNDLED_TYPE, NUC_BUNDLED_TENSOR, 0);
    nuc_fb_put_ref(b, NUC_BUNDLED_VALUE, tensor);
    return nuc_fb_table_end(b);
}

static nuc_fb_ref write_values(struct nuc_context *cx, struct nuc_fb_builder *b, const struct nuc_bundle_tensor *list,
                               uint32_t count)
{
    nuc_fb_ref *refs = nuc_alloc_array(cx, (size_t)count + 1, sizeof *refs);

    for (uint32_t i = 0; i < count; i++)
        refs[i] = write_value(b, &list[i]);
    return nuc_fb_add_refs(b, refs, count);
}

struct nuc_span nuc_bundle_write(struct nuc_context *cx, const struct nuc_bundle *bundle)
{
    struct nuc_fb_builder *b = nuc_fb_builder_new(cx);
    nuc_fb_ref *cases = nuc_alloc_array(cx, (size_t)bundle->n_cases + 1, sizeof *cases);

    nuc_fb_ref program = nuc_fb_add_vector(b, bundle->program.data, bundle->program.size, 1, NUC_BUNDLE_ALIGNMENT);
    for (uint32_t i = 0; i < bundle->n_cases; i++) {
        const struct nuc_bundle_case *c = &bundle->cases[i];
        nuc_fb_ref inputs = write_values(cx, b, c->inputs, c->n_inputs);
        nuc_fb_ref outputs = write_values(cx, b, c->outputs, c->n_outputs);
        nuc_fb_table_begin(b);
        nuc_fb_put_ref(b, NUC_CASE_INPUTS, inputs);
        nuc_fb_put_ref(b, NUC_CASE_OUTPUTS, outputs);
        cases[i] = nuc_fb_table_end(b);
    }
    nuc_fb_ref list = nuc_fb_add_refs(b, cases, bundle->n_cases);
    nuc_fb_ref method = nuc_fb_add_string(b, bundle->method);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, NUC_SUITE_METHOD, method);
    nuc_fb_put_ref(b, NUC_SUITE_CASES, list);
    nuc_fb_ref suite = nuc_fb_table_end(b);
    nuc_fb_ref suites = nuc_fb_add_refs(b, &suite, 1);
    nuc_fb_table_begin(b);
    nuc_fb_put_ref(b, NUC_BUNDLE_SUITES, suites);
    nuc_fb_put_ref(b, NUC_BUNDLE_PROGRAM, program);
    return nuc_fb_finish(b, nuc_fb_table_end(b), NUC_BUNDLE_IDENTIFIER, NULL, 0, NUC_BUNDLE_ALIGNMENT);
}
