#include "archive/file_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/zip.h"
#include "device/base/package.h"
#include "device/base/program_schema.h"
#include "host/file.h"

enum { HEAD = 512 };

/* What is known of a file before it is read. */
struct look {
    const char *path;
    bool folder;
    uint64_t size;
    uint8_t head[HEAD];
    size_t n_head;
    const struct nuc_zip *zip; /* NULL: it does not begin as one does */
};

static bool has(const struct look *l, size_t at, const char *bytes, size_t count)
{
    return l->n_head >= at + count && memcmp(l->head + at, bytes, count) == 0;
}

/* An entry of that name, in whatever folder. */
static bool has_entry(const struct look *l, const char *name)
{
    for (size_t i = 0; l->zip != NULL && i < l->zip->count; i++) {
        if (strcmp(nuc_base_name(l->zip->entries[i].name), name) == 0)
            return true;
    }
    return false;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* ---- kinds ---- */

static bool is_empty(const struct look *l)
{
    return !l->folder && l->size == 0;
}

static bool is_saved_model(const struct look *l)
{
    char name[4200];
    struct stat st;

    return l->folder && snprintf(name, sizeof name, "%.4095s/saved_model.pb", l->path) > 0 && stat(name, &st) == 0;
}

static bool is_folder(const struct look *l)
{
    return l->folder;
}

/* Also those of torch before 2.8, for which the importer has a sentence. */
static bool is_pt2(const struct look *l)
{
    return has_entry(l, "archive_format") || has_entry(l, "serialized_exported_program.json");
}

static bool is_npz(const struct look *l)
{
    for (size_t i = 0; l->zip != NULL && i < l->zip->count; i++) {
        if (ends_in(l->zip->entries[i].name, ".npy"))
            return true;
    }
    return l->zip != NULL && l->zip->count == 0;
}

static bool is_any_zip(const struct look *l)
{
    return l->zip != NULL;
}

static bool is_other_program(const struct look *l)
{
    return has(l, 4, "ET", 2) && l->n_head >= 8 && isdigit(l->head[6]) && isdigit(l->head[7]);
}

/* Protocols 2 to 5 begin with an opcode that says so. */
static bool is_pickle(const struct look *l)
{
    return l->n_head >= 3 && l->head[0] == 0x80 && l->head[1] >= 2 && l->head[1] <= 5;
}

/* saved_model.pb: its version, 1, and its list of graphs; a frozen graph: a node that begins with its name. */
static bool is_tensorflow(const struct look *l)
{
    size_t at = 1;

    if (has(l, 0, "\010\001\022", 3))
        return true;
    while (at < l->n_head && at < 6 && l->head[at] >= 0x80)
        at++;
    return has(l, 0, "\n", 1) && at + 3 < l->n_head && l->head[at + 1] == '\n' && l->head[at + 2] > 0 &&
           at + 3 + l->head[at + 2] < l->n_head && l->head[at + 3 + l->head[at + 2]] == 0x12;
}

/* The version of its form, then the name of what made it, or the next field: all are messages or texts. */
static bool is_onnx(const struct look *l)
{
    return l->n_head > 4 && l->head[0] == 0x08 && l->head[1] >= 2 && l->head[1] < 0x40 && l->head[2] != 0 &&
           strchr("\022\032\042\050\062\072\102", l->head[2]) != NULL;
}

/* The length of a JSON text, and the text. */
static bool is_safetensors(const struct look *l)
{
    return l->n_head > 9 && l->head[8] == '{' && nuc_load_u64(l->head) < l->size - 8;
}

static bool is_packed(const struct look *l)
{
    return has(l, 0, "\037\213", 2) || has(l, 257, "ustar", 5) || has(l, 0, "BZh", 3) || has(l, 0, "\3757zXZ", 6) ||
           has(l, 0, "\050\265\057\375", 4) || has(l, 0, "7z\274\257", 4);
}

static bool is_image(const struct look *l)
{
    return has(l, 0, "\211PNG", 4) || has(l, 0, "\377\330\377", 3);
}

static bool is_other_image(const struct look *l)
{
    return has(l, 0, "GIF8", 4) || (has(l, 0, "BM", 2) && has(l, 6, "\0\0\0\0", 4)) || has(l, 0, "II*\0", 4) ||
           has(l, 0, "MM\0*", 4) || (has(l, 0, "RIFF", 4) && has(l, 8, "WEBP", 4));
}

static bool is_sound(const struct look *l)
{
    return (has(l, 0, "RIFF", 4) && has(l, 8, "WAVE", 4)) || has(l, 0, "fLaC", 4) || has(l, 0, "OggS", 4);
}

static bool is_web_page(const struct look *l)
{
    return has(l, 0, "<!DOCTYPE html", 14) || has(l, 0, "<!doctype html", 14) || has(l, 0, "<html", 5);
}

static bool is_text(const struct look *l)
{
    for (size_t i = 0; i < l->n_head; i++) {
        if (l->head[i] < ' ' && l->head[i] != '\n' && l->head[i] != '\r' && l->head[i] != '\t')
            return false;
    }
    return l->n_head > 0;
}

static bool is_python(const struct look *l)
{
    return is_text(l) && ends_in(l->path, ".py");
}

#define EXPORT_IT "torch.export.save(torch.export.export(module.eval(), example_inputs), \"model.pt2\")"
#define LITERT_IT "make an int8 .tflite of it with tf.lite.TFLiteConverter in Python"
#define GET_AGAIN "copy or download it again"

#define FITS(predicate) predicate, NULL, NULL, 0, 0
#define HAS_ENTRY(name) NULL, name, NULL, 0, 0
#define HAS(at, bytes) NULL, NULL, bytes, at, sizeof(bytes) - 1

/* The first row that fits. `as_model` is also said where a program, or a file to describe, is expected. */
static const struct kind {
    bool (*fits)(const struct look *l);
    const char *entry, *bytes; /* of an archive; at a place of the file */
    size_t at, n_bytes;
    unsigned good_for; /* bits: roles */
    const char *is, *as_model;
    const char *as_program, *as_data; /* NULL: as_model, and what data may be */
} kinds[] = {
    {FITS(is_empty), 0, "empty", GET_AGAIN, GET_AGAIN, GET_AGAIN},
    {FITS(is_saved_model), 0, "a folder of TensorFlow's SavedModel", LITERT_IT, NULL, NULL},
    {FITS(is_folder), 1 << NUC_FILE_DATA, "a folder", "give the file in it", NULL, NULL},
    {FITS(is_pt2), 1 << NUC_FILE_MODEL | 1 << NUC_FILE_ARCHIVE | 1 << NUC_FILE_DESCRIBED,
     "a torch.export archive (.pt2)", "'nucleon compile' makes a program of it",
     "'nucleon compile' makes a program of it", NULL},
    {HAS_ENTRY("constants.pkl"), 0, "a TorchScript archive (torch.jit.save)",
     "export the module it was made of: " EXPORT_IT, NULL, NULL},
    {HAS_ENTRY("data.pkl"), 0, "what torch.save writes (weights, or a pickled module)",
     "build the module in Python, load the weights into it, then " EXPORT_IT, NULL,
     "save arrays with numpy.savez in Python"},
    {HAS_ENTRY("model.weights.h5"), 0, "a Keras model (.keras)", LITERT_IT, NULL, NULL},
    {FITS(is_npz), 1 << NUC_FILE_DATA, "an archive of arrays (.npz)",
     "it goes after --calibration, --input or --dataset", NULL, NULL},
    {FITS(is_any_zip), 0, "a zip archive without model or arrays", "unpack it and give what is in it, or " EXPORT_IT,
     NULL, NULL},
    {HAS(4, "TFL3"), 1 << NUC_FILE_MODEL | 1 << NUC_FILE_LITERT | 1 << NUC_FILE_DESCRIBED, "a LiteRT model (.tflite)",
     "'nucleon compile' takes it", "'nucleon compile' makes a program of it", NULL},
    {HAS(4, NUC_PROGRAM_IDENTIFIER), 1 << NUC_FILE_PROGRAM | 1 << NUC_FILE_DESCRIBED, "an ExecuTorch program (.pte)",
     "give the model it was compiled from; 'nucleon run' and 'nucleon evaluate' take programs", NULL, NULL},
    {HAS(0, NUC_PACKAGE_MAGIC), 1 << NUC_FILE_PROGRAM | 1 << NUC_FILE_DESCRIBED, "a package of a program (.npk)",
     "give the model it was compiled from; 'nucleon run' and 'nucleon evaluate' take programs", NULL, NULL},
    {HAS(4, NUC_BUNDLE_IDENTIFIER), 1 << NUC_FILE_PROGRAM | 1 << NUC_FILE_DESCRIBED, "a bundled program (.bpte)",
     "give the model it was compiled from; 'nucleon run' and 'nucleon evaluate' take programs", NULL, NULL},
    {FITS(is_other_program), 0, "an ExecuTorch program of another version", "make it with ExecuTorch 1.x or nucleon",
     NULL, NULL},
    {HAS(4, "ED00"), 0, "an ETDump, a profile", "ExecuTorch's Inspector reads it", NULL, NULL},
    {HAS(0, "\223NUMPY"), 1 << NUC_FILE_DATA, "an array (.npy)", "it goes after --calibration, --input or --dataset",
     NULL, NULL},
    {FITS(is_pickle), 0, "a Python pickle (torch.save, joblib)",
     "build the module in Python, load the weights into it, then " EXPORT_IT, NULL,
     "save arrays with numpy.savez in Python"},
    {HAS(0, "\211HDF\r\n\032\n"), 0, "an HDF5 file (.h5, of Keras)", LITERT_IT, NULL,
     "save arrays with numpy.savez in Python"},
    {FITS(is_onnx), 0, "an ONNX model", "export the PyTorch module instead: " EXPORT_IT, NULL, NULL},
    {FITS(is_tensorflow), 0, "a TensorFlow graph (.pb)", LITERT_IT, NULL, NULL},
    {FITS(is_safetensors), 0, "a safetensors file: weights without their network",
     "build the module in Python, load the weights into it, then " EXPORT_IT, NULL,
     "save arrays with numpy.savez in Python"},
    {HAS(0, "\177ELF"), 0, "an ELF file, code of a machine",
     "an image of 'make firmware' runs with tools/firmware_run.sh; here give the model or program it was made of", NULL,
     NULL},
    {FITS(is_packed), 0, "a compressed or tar archive", "unpack it and give what is in it",
     "unpack it and give what is in it", "unpack it and give what is in it"},
    {FITS(is_image), 0, "one image", "put it into a folder and give that after --calibration, --input or --dataset",
     NULL, "put it into a folder of its own and give the folder"},
    {FITS(is_other_image), 0, "an image, neither PNG nor JPEG", "convert it and give it after --input", NULL,
     "convert it to PNG"},
    {FITS(is_sound), 0, "a sound file", "it goes after --calibration, --input or --dataset", NULL,
     "convert it to a .wav file of that name"},
    {HAS(0, "version https://git-lfs"), 0, "a pointer of Git LFS, not the file itself", "fetch it with 'git lfs pull'",
     "fetch it with 'git lfs pull'", "fetch it with 'git lfs pull'"},
    {FITS(is_web_page), 0, "a web page, not the file itself", "download the raw file", "download the raw file",
     "download the raw file"},
    {FITS(is_python), 0, "Python source", "run it in Python, where " EXPORT_IT " makes a model", NULL, NULL},
    {FITS(is_text), 0, "a text", EXPORT_IT " makes a model in Python", NULL, "save arrays with numpy.savez in Python"},
    {HAS(0, ""), 0, "of an unknown kind", EXPORT_IT " makes a model in Python", NULL, NULL},
};

static const char *const expected[NUC_FILE_ROLE_COUNT] = {
    [NUC_FILE_MODEL] = "neither a torch.export archive (.pt2) nor a LiteRT model (.tflite)",
    [NUC_FILE_ARCHIVE] = "not a torch.export archive (.pt2)",
    [NUC_FILE_LITERT] = "not a LiteRT model (.tflite)",
    [NUC_FILE_PROGRAM] = "not an ExecuTorch program (.pte)",
    [NUC_FILE_DATA] = "not data",
    [NUC_FILE_DESCRIBED] = "neither a torch.export archive (.pt2), nor a LiteRT model (.tflite), nor a program (.pte)",
};

/* ---- the look ---- */

static void read_head(struct nuc_context *cx, struct nuc_stored input, struct look *l)
{
    struct stat st;

    l->folder = input.bytes.data == NULL && stat(l->path, &st) == 0 && S_ISDIR(st.st_mode);
    if (l->folder)
        return;
    struct nuc_file *file = nuc_open_stored(cx, input);
    l->size = file->size;
    l->n_head = l->size < sizeof l->head ? (size_t)l->size : sizeof l->head;
    nuc_read_at(file, 0, l->head, l->n_head);
    nuc_close_file(file);
}

static const char *remedy(const struct kind *k, enum nuc_file_role role)
{
    if (role == NUC_FILE_DATA)
        return k->as_data != NULL ? k->as_data
                                  : "give an .npz or .npy file, a .wav or .csv file, raw frames (.rgb565, .grey and so "
                                    "on), or a folder of arrays, "
                                    "images or recordings";
    return role == NUC_FILE_PROGRAM && k->as_program != NULL ? k->as_program : k->as_model;
}

void nuc_expect_stored(struct nuc_context *cx, struct nuc_stored input, enum nuc_file_role role)
{
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct look *l = nuc_alloc(cx, sizeof *l);

    l->path = input.path;
    read_head(cx, input, l);
    if (nuc_is_zip((struct nuc_span){l->head, l->n_head}))
        l->zip = nuc_zip_open(cx, input);
    const struct kind *k = kinds;
    while (k->fits != NULL    ? !k->fits(l)
           : k->entry != NULL ? !has_entry(l, k->entry)
                              : !has(l, k->at, k->bytes, k->n_bytes))
        k++;
    if ((k->good_for >> role & 1) == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is %s, %s: %s", input.path, k->is, expected[role], remedy(k, role));
    nuc_pop_arena(cx, outer);
}

void nuc_expect_file(struct nuc_context *cx, const char *path, enum nuc_file_role role)
{
    nuc_expect_stored(cx, (struct nuc_stored){.path = path}, role);
}
