#include "front/sensor/sensor.h"

struct nuc_node *nuc_build_audio(struct nuc_front_end *f, const struct nuc_json *description)
{
    nuc_front_end_misfit(f, description, "nothing yet");
}
