/* --stream: a network over a window of time becomes one that takes the frames as they come. */
#include "driver/stages.h"
#include "rewrite/stream/stream.h"

/* Quantization decides for the network as it is, so that its numbers are those of the hops. */
bool nuc_is_to_stream(const struct nuc_job *j)
{
    return nuc_waits_for_stream(j->m) && j->first > NUC_STAGE_QUANTIZE;
}

/* The axis of a LiteRT model's image, as the graph has it: the channels are behind height and width in the model. */
static int64_t graph_axis(const struct nuc_model *m, int64_t axis)
{
    static const int64_t of_image[] = {0, 2, 3, 1};
    const int64_t rank = sizeof of_image / sizeof of_image[0], at = axis < 0 ? axis + rank : axis;

    return nuc_is_image_input(m, 0) && at >= 0 && at < rank ? of_image[at] : axis;
}

void nuc_stream_model(struct nuc_job *j)
{
    struct nuc_context *cx = j->c->cx;
    const struct nuc_stream_option o = nuc_stream_option(cx, j->m->settings->o.stream);
    struct nuc_graph *g = nuc_graph_copy(j->m->graph);
    struct nuc_stream_report *report = nuc_alloc(cx, sizeof *report);
    struct nuc_stream_result r;

    nuc_stream_graph(g, graph_axis(j->m, o.axis), o.hop, &r);
    *report = (struct nuc_stream_report){
        .hop = r.hop,
        .window = r.whole,
        .latency = r.latency,
        .ring_bytes = r.ring_bytes,
        .macs = r.products,
        .window_macs = r.whole_products,
        .window_from = r.window_from,
        .overhang = r.overhang,
        .looks_back = r.looks_back,
    };
    j->m = nuc_model_after(j->m, g);
    j->m->stream = report;
    if (r.overhang > 0)
        nuc_warn(cx,
                 "%s: --stream: %s is computed of windows at whose ends layers see %lld frames that the network pads: "
                 "its results are not those of the network",
                 g->file, r.window_from, (long long)r.overhang);
}
