/*
 * The header of .npy files, versions 1 to 3 (numpy/lib/format.py): magic, version, length, then a Python dictionary
 * with the keys descr, fortran_order and shape in any order.
 */
#include "data/npy_header.h"

#include <ctype.h>
#include <string.h>

#include "host/limits.h"

#define MAGIC_SIZE 6u

static const uint8_t magic[MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* numpy's names; '|' stands for types of one byte, which numpy also writes with '<'. */
static const struct {
    const char *descr;
    enum nuc_dtype dtype;
} descrs[] = {
    {"|u1", NUC_U8},  {"|i1", NUC_I8},  {"<i2", NUC_I16},  {"<i4", NUC_I32},  {"<i8", NUC_I64},
    {"<f2", NUC_F16}, {"<f4", NUC_F32}, {"<f8", NUC_F64},  {"|b1", NUC_BOOL}, {"<u2", NUC_U16},
    {"<u1", NUC_U8},  {"<i1", NUC_I8},  {"<b1", NUC_BOOL}, {"<c8", NUC_F32},  {"<c16", NUC_F64},
};

struct header_reader {
    struct nuc_context *cx;
    const char *where;
    const char *p, *end;
    struct nuc_npy_header *header;
    bool has_descr, has_order, has_shape;
    bool is_pair; /* a complex number, whose parts are a dimension more */
};

_Noreturn static void bad(const struct header_reader *r, const char *what)
{
    nuc_fail(r->cx, NUC_BAD_INPUT, "%s: .npy header: %s", r->where, what);
}

static void skip_spaces(struct header_reader *r)
{
    while (r->p < r->end && isspace((unsigned char)*r->p))
        r->p++;
}

static bool take(struct header_reader *r, char c)
{
    skip_spaces(r);
    if (r->p == r->end || *r->p != c)
        return false;
    r->p++;
    return true;
}

static void expect(struct header_reader *r, char c)
{
    if (!take(r, c))
        bad(r, nuc_format(r->cx, "'%c' is missing", c));
}

static const char *take_string(struct header_reader *r)
{
    skip_spaces(r);
    if (r->p == r->end || (*r->p != '\'' && *r->p != '"'))
        bad(r, "a quoted text is missing (structured types are not read)");
    const char *start = r->p + 1;
    const char *close = memchr(start, *r->p, (size_t)(r->end - start));
    if (close == NULL)
        bad(r, "a text does not end");
    char *text = nuc_alloc(r->cx, (size_t)(close - start) + 1);
    memcpy(text, start, (size_t)(close - start));
    r->p = close + 1;
    return text;
}

static bool take_word(struct header_reader *r, const char *word)
{
    size_t length = strlen(word);

    skip_spaces(r);
    if ((size_t)(r->end - r->p) < length || memcmp(r->p, word, length) != 0)
        return false;
    r->p += length;
    return true;
}

static void read_descr(struct header_reader *r)
{
    const char *descr = take_string(r);

    for (size_t i = 0; i < sizeof descrs / sizeof descrs[0]; i++) {
        if (strcmp(descrs[i].descr, descr) == 0) {
            r->header->array.dtype = descrs[i].dtype;
            r->is_pair = descr[1] == 'c';
            r->has_descr = true;
            return;
        }
    }
    if (strcmp(descr, "|O") == 0)
        nuc_fail(
            r->cx, NUC_UNSUPPORTED,
            "%s: holds Python objects: give numbers of one shape; join sequences of unequal length along axis 0 and "
            "mark in an array 'reset' where each begins",
            r->where);
    nuc_fail(r->cx, NUC_UNSUPPORTED,
             "%s: element type '%.20s' is not read: give bool or little-endian f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2",
             r->where, descr);
}

static void read_shape(struct header_reader *r)
{
    expect(r, '(');
    while (!take(r, ')')) {
        if (r->header->array.rank == NUC_MAX_RANK)
            bad(r, "the array has too many dimensions");
        int64_t size = 0;
        skip_spaces(r);
        if (r->p == r->end || !isdigit((unsigned char)*r->p))
            bad(r, "a size is missing in the shape");
        for (; r->p < r->end && isdigit((unsigned char)*r->p); r->p++) {
            if (size > (INT64_MAX - 9) / 10)
                bad(r, "a size does not fit 64 bits");
            size = size * 10 + (*r->p - '0');
        }
        take(r, 'L'); /* Python 2 wrote long integers so */
        r->header->array.shape[r->header->array.rank++] = size;
        if (!take(r, ',')) {
            expect(r, ')');
            break;
        }
    }
    r->has_shape = true;
}

static void read_dictionary(struct header_reader *r)
{
    expect(r, '{');
    while (!take(r, '}')) {
        const char *key = take_string(r);
        expect(r, ':');
        if (strcmp(key, "descr") == 0 && !r->has_descr)
            read_descr(r);
        else if (strcmp(key, "fortran_order") == 0 && !r->has_order) {
            r->header->fortran_order = take_word(r, "True");
            if (!r->header->fortran_order && !take_word(r, "False"))
                bad(r, "fortran_order is neither True nor False");
            r->has_order = true;
        } else if (strcmp(key, "shape") == 0 && !r->has_shape)
            read_shape(r);
        else
            bad(r, nuc_format(r->cx, "unexpected or repeated key '%.20s'", key));
        if (!take(r, ',')) {
            expect(r, '}');
            break;
        }
    }
    if (!r->has_descr || !r->has_order || !r->has_shape)
        bad(r, "descr, fortran_order or shape is missing");
    if (r->is_pair && (r->header->fortran_order || r->header->array.rank == NUC_MAX_RANK))
        bad(r, "complex numbers are read in C order, of 15 dimensions at most");
    if (r->is_pair)
        r->header->array.shape[r->header->array.rank++] = 2;
}

struct nuc_npy_header nuc_parse_npy_header(struct nuc_context *cx, const char *where, struct nuc_span file,
                                           uint64_t size)
{
    struct nuc_npy_header header = {.array = {.name = where}};
    struct header_reader r = {.cx = cx, .where = where, .header = &header};
    struct nuc_span text;

    if (file.size < 12 || memcmp(file.data, magic, MAGIC_SIZE) != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is not a .npy array", where);
    uint8_t version = file.data[MAGIC_SIZE];
    if (version < 1 || version > 3)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: .npy version %u is not read (1 to 3 are)", where, version);
    size_t start = version == 1 ? 10 : 12;
    uint32_t length = version == 1 ? nuc_load_u16(file.data + 8) : nuc_load_u32(file.data + 8);
    if (length > NUC_MAX_NPY_HEADER - 12)
        bad(&r, nuc_format(cx, "it has %u bytes (limit %zu): save the array again", (unsigned)length,
                           NUC_MAX_NPY_HEADER - 12));
    if (!nuc_span_slice(file, start, length, &text))
        bad(&r, "it is longer than the file");
    header.data_offset = start + length;
    r.p = (const char *)text.data;
    r.end = r.p + text.size;
    read_dictionary(&r);
    /* The stated elements are in the file of `size` bytes. */
    const struct nuc_array *a = &header.array;
    size_t bytes = nuc_dtype_size(a->dtype);
    bool empty = false;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->shape[i] > INT32_MAX)
            bad(&r, "the shape is absurd");
        if (a->shape[i] == 0)
            empty = true;
        else if (!nuc_mul_size(bytes, (size_t)a->shape[i], &bytes))
            bad(&r, "the shape is absurd");
    }
    if (!empty && bytes > size - header.data_offset)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the array has %zu bytes, the file %llu: it is cut short", where, bytes,
                 (unsigned long long)(size - header.data_offset));
    header.array.data.size = empty ? 0 : bytes;
    return header;
}

const char *nuc_npy_descr(enum nuc_dtype dtype)
{
    for (size_t i = 0; i < sizeof descrs / sizeof descrs[0]; i++) {
        if (descrs[i].dtype == dtype)
            return descrs[i].descr;
    }
    return NULL;
}
