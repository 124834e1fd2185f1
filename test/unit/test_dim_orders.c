/* Dim orders as options and of values no program can have: graphs before and after, which compute the same. */
#include "rewrites.h"

#include "compiler/layout/orders.h"
#include "compiler/passes/pass_list.h"

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

#define CONTIGUOUS_NET                                                                                                 \
    "%w = parameter \"w\" : float32[4, 3, 1, 1]\n"                                                                     \
    "%b = parameter \"b\" : float32[4]\n"                                                                              \
    "%x = input : float32[1, 3, 5, 6]\n"                                                                               \
    "%c = aten.conv2d.default(%x, %w, %b) : float32[1, 4, 5, 6]\n"                                                     \
    "%v = aten.view.default(%c, [1, 120]) : float32[1, 120]\n"                                                         \
    "%output = output([%v])\n"

static const struct rewrite rewrites[] = {
    {"contiguous_becomes_channels_last", to_channels_last, CONTIGUOUS_NET,
     "%w = parameter \"w\" : float32[4, 3, 1, 1]\n"
     "%b = parameter \"b\" : float32[4]\n"
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%c = aten.conv2d.default(%x, %w, %b) : float32[1, 4, 5, 6] channels-last\n"
     "%v = aten.reshape.default(%c, [1, 120]) : float32[1, 120]\n"
     "%output = output([%v])\n"},
    {"channels_last_becomes_contiguous", to_contiguous,
     "%w = parameter \"w\" : float32[4, 3, 2, 2] channels-last\n"
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%c = aten.conv2d.default(%x, %w) : float32[1, 4, 4, 5] channels-last\n"
     "%output = output([%c])\n",
     "%w = parameter \"w\" : float32[4, 3, 2, 2]\n"
     "%x = input : float32[1, 3, 5, 6]\n"
     "%c = aten.conv2d.default(%x, %w) : float32[1, 4, 4, 5]\n"
     "%output = output([%c])\n"},
    {"copies_that_change_nothing_go", remove_copies,
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%a = edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 2, 3, 1]) : float32[1, 3, 5, 6] "
     "channels-last\n"
     "%r = edge.aten.relu.default(%a) : float32[1, 3, 5, 6] channels-last\n"
     "%output = output([%r])\n",
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%r = edge.aten.relu.default(%x) : float32[1, 3, 5, 6] channels-last\n"
     "%output = output([%r])\n"},
    {"copies_inside_go", remove_copies,
     "%x = input : float32[1, 3, 5, 6]\n"
     "%a = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0, 2, 3, 1]) : float32[1, 3, 5, 6] "
     "channels-last\n"
     "%m = edge.aten.mean.dim(%a, [2, 3]) : float32[1, 3]\n"
     "%output = output([%m])\n",
     "%x = input : float32[1, 3, 5, 6]\n"
     "%m = edge.aten.mean.dim(%x, [2, 3]) : float32[1, 3]\n"
     "%output = output([%m])\n"},
    {"copies_outputs_depend_on_stay", remove_copies,
     "%x = input : float32[1, 3, 5, 6]\n"
     "%a = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0, 2, 3, 1]) : float32[1, 3, 5, 6] "
     "channels-last\n"
     "%r = edge.aten.relu.default(%a) : float32[1, 3, 5, 6] channels-last\n"
     "%output = output([%r])\n",
     "%x = input : float32[1, 3, 5, 6]\n"
     "%a = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0, 2, 3, 1]) : float32[1, 3, 5, 6] "
     "channels-last\n"
     "%r = edge.aten.relu.default(%a) : float32[1, 3, 5, 6] channels-last\n"
     "%output = output([%r])\n"},
    {"copies_given_out_stay", remove_copies,
     "%x = input : float32[2, 3]\n"
     "%a = edge.aten.clone.default(%x) : float32[2, 3]\n"
     "%output = output([%a])\n",
     "%x = input : float32[2, 3]\n"
     "%a = edge.aten.clone.default(%x) : float32[2, 3]\n"
     "%output = output([%a])\n"},
    {"parameters_follow_channels_last", make_usable,
     "%p = parameter \"p\" : float32[3, 1, 6]\n"
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%a = edge.aten.add.Tensor(%p, %x) : float32[1, 3, 5, 6] dim-order(0, 2, 1, 3)\n"
     "%output = output([%a])\n",
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%p_channels_last = parameter \"p_channels_last\" : float32[1, 3, 1, 6] channels-last\n"
     "%a = edge.aten.add.Tensor(%p_channels_last, %x) : float32[1, 3, 5, 6] channels-last\n"
     "%output = output([%a])\n"},
    {"operands_are_copied", make_usable,
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%y = input : float32[1, 3, 1, 6]\n"
     "%a = edge.aten.add.Tensor(%y, %x) : float32[1, 3, 5, 6] dim-order(0, 2, 1, 3)\n"
     "%output = output([%a])\n",
     "%x = input : float32[1, 3, 5, 6] channels-last\n"
     "%y = input : float32[1, 3, 1, 6]\n"
     "%dim_order_ops__clone_dim_order_default = edge.dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 1, 2, "
     "3]) : float32[1, 3, 5, 6]\n"
     "%a = edge.aten.add.Tensor(%y, %dim_order_ops__clone_dim_order_default) : float32[1, 3, 5, 6]\n"
     "%output = output([%a])\n"},
};

static void test_rewrites(void **state)
{
    (void)state;
    run_rewrites(rewrites, sizeof rewrites / sizeof rewrites[0]);
}

/* ---- notes ---- */

static void keep_note(void *user, const char *message)
{
    strncpy(user, message, NUC_MESSAGE_SIZE - 1);
}

struct notes {
    const char *graph;
    bool channels_last;
    char said[NUC_MESSAGE_SIZE];
};

static void convert(struct nuc_context *cx, void *arg)
{
    struct notes *n = arg;
    struct nuc_graph *g = parse_graph(cx, n->graph);

    fill_constants(g);
    cx->warn = keep_note;
    cx->warn_user = n->said;
    nuc_convert_orders(g, n->channels_last);
}

static void test_notes(void **state)
{
    struct notes changed = {CONTIGUOUS_NET, true, ""};
    struct notes same = {CONTIGUOUS_NET, false, ""};

    (void)state;
    run_in_context(convert, &changed);
    assert_non_null(strstr(changed.said, "input 'x' is channels-last now"));
    assert_non_null(strstr(changed.said, "[1, 5, 6, 3], dimensions N, H, W, C"));
    run_in_context(convert, &same);
    assert_string_equal(same.said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rewrites),
        cmocka_unit_test(test_notes),
    };

    return cmocka_run_group_tests_name("dim_orders", tests, NULL, NULL);
}
