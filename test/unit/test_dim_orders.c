/* Dim orders as options and of values no program can have: graphs before and after, which compute the same. */
#include "rewrites.h"

#include "npu/layout/orders.h"
#include "rewrite/pass_list.h"

static void to_channels_last(struct nuc_graph *g)
{
    nuc_convert_orders(g, true);
}

static void to_contiguous(struct nuc_graph *g)
{
    nuc_convert_orders(g, false);
}

static void remove_copies(struct nuc_graph *g)
{
    nuc_remove_order_copies(g);
}

static void make_usable(struct nuc_graph *g)
{
    nuc_make_orders_usable(g);
}

static const struct stage stages[] = {
    {.name = "to-channels-last", .run = to_channels_last},
    {.name = "to-contiguous", .run = to_contiguous},
    {.name = "remove-order-copies", .run = remove_copies},
    {.name = "make-orders-usable", .run = make_usable},
};

/* ---- notes ---- */

static void keep_note(void *user, const char *message)
{
    strncpy(user, message, NUC_MESSAGE_SIZE - 1);
}

static const char contiguous_net[] = "%w = parameter \"w\" : float32[4, 3, 1, 1]\n"
                                     "%x = input : float32[1, 3, 5, 6]\n"
                                     "%c = aten.conv2d.default(%x, %w)\n"
                                     "%output = output([%c])\n";

struct notes {
    bool channels_last;
    char said[NUC_MESSAGE_SIZE];
};

static void convert(struct nuc_context *cx, void *arg)
{
    struct notes *n = arg;
    struct nuc_graph *g = parse_graph(cx, contiguous_net);

    fill_constants(g);
    cx->warn = keep_note;
    cx->warn_user = n->said;
    nuc_convert_orders(g, n->channels_last);
}

static void test_notes(void **state)
{
    struct notes changed = {true, ""};
    struct notes same = {false, ""};

    run_in_context(convert, &changed);
    assert_non_null(strstr(changed.said, "input 'x' is channels-last now"));
    assert_non_null(strstr(changed.said, "[1, 5, 6, 3], dimensions N, H, W, C"));
    run_in_context(convert, &same);
    assert_string_equal(same.said, "");
}

RUN_TESTS(REWRITE_TEST("dim_orders.txt", stages), cmocka_unit_test(test_notes))
