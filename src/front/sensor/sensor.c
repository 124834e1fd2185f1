#include "front/sensor/sensor.h"

int64_t nuc_front_end_int(const struct nuc_json *object, const char *key, int64_t least, int64_t most, int64_t absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);
    const int64_t value = nuc_json_is_there(&j) ? nuc_json_int(&j) : absent;

    if (nuc_json_is_there(&j) && (value < least || value > most))
        nuc_json_fail(&j, NUC_BAD_INPUT, "is %lld: %lld to %lld are taken", (long long)value, (long long)least,
                      (long long)most);
    return value;
}

double nuc_front_end_real(const struct nuc_json *object, const char *key, double least, double most, double absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);
    const double value = nuc_json_is_there(&j) ? nuc_json_double(&j) : absent;

    if (nuc_json_is_there(&j) && !(value >= least && value <= most))
        nuc_json_fail(&j, NUC_BAD_INPUT, "is %.9g: %.9g to %.9g are taken", value, least, most);
    return value;
}

bool nuc_front_end_flag(const struct nuc_json *object, const char *key, bool absent)
{
    const struct nuc_json j = nuc_json_optional(object, key);

    return nuc_json_is_there(&j) ? nuc_json_bool(&j) : absent;
}

void nuc_front_end_misfit(const struct nuc_front_end *f, const struct nuc_json *description, const char *makes)
{
    nuc_json_fail(description, NUC_BAD_INPUT, "makes %s, and the input '%s' of %s is %s: give what it was trained with",
                  makes, f->input->name, f->g->file, nuc_meta_text(f->g->cx, &f->wanted));
}

struct nuc_node *nuc_front_end_input(struct nuc_front_end *f, const char *name, const struct nuc_meta *meta)
{
    struct nuc_node *input = nuc_add_placeholder(f->g, name, NUC_USER_INPUT, meta);

    input->source = f->input->source;
    return input;
}
