/*
 * Elementwise operators of all element types: each row is run by the evaluator and, expanded and lowered to the Edge
 * dialect, as a program by the runtime's kernels. Results are those of PyTorch 2.14.
 */
#include "unit/eval_graphs.h"
#include "unit/program_graphs.h"

#include <math.h>

#include "rewrite/passes.h"

#define N 6

struct row {
    const char *text;
    double in[N];
    enum nuc_dtype dtype; /* of the results */
    double expected[N];
};

/* clang-format off */
static const struct row rows[] = {
    {"$x = input : float32[6]; $y = aten.sin.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.598472118, -0.47942555, 0, 0.681638777, 0.997494996, 0.141120002}},
    {"$x = input : float32[6]; $y = aten.cos.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.801143646, 0.87758261, 1.0, 0.731688857, 0.070737198, -0.989992499}},
    {"$x = input : float32[6]; $y = aten.tan.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.747022331, -0.546302497, 0, 0.931596458, 14.1014204, -0.142546549}},
    {"$x = input : float32[6]; $y = aten.sinh.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-6.05020428, -0.521095276, 0, 0.822316706, 2.12927938, 10.0178747}},
    {"$x = input : float32[6]; $y = aten.cosh.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {6.13228941, 1.12762594, 1.0, 1.29468334, 2.3524096, 10.0676622}},
    {"$x = input : float32[6]; $y = aten.asinh.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.6472311, -0.481211811, 0, 0.693147182, 1.19476318, 1.81844652}},
    {"$x = input : float32[6]; $y = aten.atan.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.19028997, -0.463647604, 0, 0.643501103, 0.982793748, 1.24904573}},
    {"$x = input : float32[6]; $y = aten.tanh.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.986614287, -0.462117165, 0, 0.635148942, 0.905148268, 0.995054781}},
    {"$x = input : float32[6]; $y = aten.exp.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.0820849985, 0.606530666, 1.0, 2.1170001, 4.48168898, 20.085537}},
    {"$x = input : float32[6]; $y = aten.expm1.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.917914987, -0.393469334, 0, 1.11699998, 3.48168898, 19.085537}},
    {"$x = input : float32[6]; $y = aten.erf.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.99959296, -0.520500124, 0, 0.711155593, 0.966105282, 0.999977887}},
    {"$x = input : float32[6]; $y = aten.sigmoid.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.0758581758, 0.377540678, 0.5, 0.679178715, 0.817574441, 0.952574134}},
    {"$x = input : float32[6]; $y = aten.exp2.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.176776692, 0.707106769, 1.0, 1.68179286, 2.82842708, 8.0}},
    {"$x = input : float32[6]; $y = aten.erfc.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {1.99959302, 1.52049994, 1.0, 0.288844377, 0.0338948518, 2.20904967e-05}},
    {"$x = input : float32[6]; $y = aten.square.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {6.25, 0.25, 0, 0.5625, 2.25, 9.0}},
    {"$x = input : float32[6]; $y = aten.sinc.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.127323955, 0.636619747, 1.0, 0.300105423, -0.212206587, -2.53053822e-09}},
    {"$x = input : float32[6]; $y = aten.deg2rad.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.04363323, -0.00872664619, 0, 0.0130899698, 0.0261799395, 0.052359879}},
    {"$x = input : float32[6]; $y = aten.rad2deg.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-143.239456, -28.6478901, 0, 42.9718361, 85.9436722, 171.887344}},
    {"$x = input : float32[6]; $y = aten.frac.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.5, -0.5, 0, 0.75, 0.5, 0}},
    {"$x = input : float32[6]; $y = aten.floor.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-3.0, -1.0, 0, 0, 1.0, 3.0}},
    {"$x = input : float32[6]; $y = aten.ceil.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.0, -0.0, 0, 1.0, 2.0, 3.0}},
    {"$x = input : float32[6]; $y = aten.trunc.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.0, -0.0, 0, 0, 1.0, 3.0}},
    {"$x = input : float32[6]; $y = aten.round.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.0, -0.0, 0, 1.0, 2.0, 3.0}},
    {"$x = input : float32[6]; $y = aten.sign.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.0, -1.0, 0, 1.0, 1.0, 1.0}},
    {"$x = input : float32[6]; $y = aten.reciprocal.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.400000006, -2.0, (double)INFINITY, 1.33333337, 0.666666687, 0.333333343}},
    {"$x = input : float32[6]; $y = aten.abs.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {2.5, 0.5, 0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.neg.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {2.5, 0.5, -0.0, -0.75, -1.5, -3.0}},
    {"$x = input : float32[6]; $y = aten.relu.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0, 0, 0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.asin.default($x)", {0, 0.25, 0.5, 0.75, 1.0, 0.9}, NUC_F32, {0, 0.252680242, 0.52359879, 0.848062098, 1.57079637, 1.11976945}},
    {"$x = input : float32[6]; $y = aten.acos.default($x)", {0, 0.25, 0.5, 0.75, 1.0, 0.9}, NUC_F32, {1.57079637, 1.31811607, 1.04719758, 0.722734272, 0, 0.451026857}},
    {"$x = input : float32[6]; $y = aten.atanh.default($x)", {0, 0.25, 0.5, 0.75, 1.0, 0.9}, NUC_F32, {0, 0.255412817, 0.549306154, 0.972955048, (double)INFINITY, 1.47221935}},
    {"$x = input : float32[6]; $y = aten.logit.default($x)", {0, 0.25, 0.5, 0.75, 1.0, 0.9}, NUC_F32, {-(double)INFINITY, -1.09861231, 0, 1.09861231, (double)INFINITY, 2.19722438}},
    {"$x = input : float32[6]; $y = aten.log1p.default($x)", {0, 0.25, 0.5, 0.75, 1.0, 0.9}, NUC_F32, {0, 0.223143548, 0.405465096, 0.559615791, 0.693147182, 0.641853869}},
    {"$x = input : float32[6]; $y = aten.acosh.default($x)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {0, 0.962423623, 1.31695795, 2.06343699, 2.99322295, 5.29829216}},
    {"$x = input : float32[6]; $y = aten.log.default($x)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {0, 0.405465096, 0.693147182, 1.38629436, 2.30258512, 4.60517025}},
    {"$x = input : float32[6]; $y = aten.log2.default($x)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {0, 0.584962487, 1.0, 2.0, 3.32192802, 6.64385605}},
    {"$x = input : float32[6]; $y = aten.log10.default($x)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {0, 0.176091254, 0.30103001, 0.60206002, 1.0, 2.0}},
    {"$x = input : float32[6]; $y = aten.sqrt.default($x)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 1.22474492, 1.41421354, 2.0, 3.1622777, 10.0}},
    {"$x = input : float32[6]; $y = aten.rsqrt.default($x)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 0.816496551, 0.707106769, 0.5, 0.316227764, 0.100000001}},
    {"$x = input : float32[6]; $y = aten.logit.default($x, 0.25)", {0, 0.25, 0.5, 0.75, 1.0, 0.9}, NUC_F32, {-1.09861231, -1.09861231, 0, 1.09861231, 1.09861231, 1.09861231}},
    {"$x = input : float32[6]; $y = aten.elu.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.917914987, -0.393469334, 0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.selu.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.61378574, -0.691758156, 0, 0.788025737, 1.57605147, 3.15210295}},
    {"$x = input : float32[6]; $y = aten.celu.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.917914987, -0.393469334, 0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.softplus.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.078889735, 0.474076986, 0.693147182, 1.13687098, 1.70141327, 3.04858732}},
    {"$x = input : float32[6]; $y = aten.mish.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.196816206, -0.220743775, 0, 0.610018313, 1.40337825, 2.98653507}},
    {"$x = input : float32[6]; $y = aten.hardshrink.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.5, 0, 0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.softshrink.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.0, -0.0, 0, 0.25, 1.0, 2.5}},
    {"$x = input : float32[6]; $y = aten.silu.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.189645454, -0.188770339, 0, 0.509384036, 1.22636163, 2.85772252}},
    {"$x = input : float32[6]; $y = aten.hardswish.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.208333328, -0.208333328, 0, 0.46875, 1.125, 3.0}},
    {"$x = input : float32[6]; $y = aten.hardsigmoid.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.0833333358, 0.416666657, 0.5, 0.625, 0.75, 1.0}},
    {"$x = input : float32[6]; $y = aten.log_sigmoid.default($x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.57888985, -0.974076986, -0.693147182, -0.38687101, -0.201413289, -0.048587352}},
    {"$x = input : float32[6]; $y = aten.celu.default($x, 0.5)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.496631026, -0.316060275, 0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.elu.default($x, 0.5, 2.0, 3.0)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.999446929, -0.776869833, 0, 1.5, 3.0, 6.0}},
    {"$x = input : float32[6]; $y = aten.softplus.default($x, 2.0, 1.0)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.00335767423, 0.156630844, 0.346573591, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.threshold.default($x, 0.5, -1.0)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.0, -1.0, -1.0, 0.75, 1.5, 3.0}},
    {"$x = input : float32[6]; $y = aten.round.decimals($x, 1)", {1.25, -2.345, 0.05, 12.35, 7.0, 0.96}, NUC_F32, {1.20000005, -2.29999995, 0, 12.3999996, 7.0, 1.0}},
    {"$x = input : float32[6]; $y = aten.round.decimals($x, -1)", {15.0, 25.0, -35.0, 4.0, 7.0, 96.0}, NUC_F32, {20.0, 20.0, -40.0, 0, 10.0, 100.0}},
    {"$x = input : float32[6]; $y = aten.floor.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -2.0}},
    {"$x = input : float32[6]; $y = aten.ceil.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.0}},
    {"$x = input : float32[6]; $y = aten.round.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -2.0}},
    {"$x = input : float32[6]; $y = aten.trunc.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.0}},
    {"$x = input : float32[6]; $y = aten.sign.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {0, 1.0, -1.0, 0, 1.0, -1.0}},
    {"$x = input : float32[6]; $y = aten.relu.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, 0, -0.0, 2.0, 0}},
    {"$x = input : float32[6]; $y = aten.abs.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, (double)INFINITY, 0, 2.0, 1.5}},
    {"$x = input : float32[6]; $y = aten.neg.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, -(double)INFINITY, (double)INFINITY, 0, -2.0, 1.5}},
    {"$x = input : float32[6]; $y = aten.isnan.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_BOOL, {1, 0, 0, 0, 0, 0}},
    {"$x = input : float32[6]; $y = aten.isinf.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_BOOL, {0, 1, 1, 0, 0, 0}},
    {"$x = input : float32[6]; $y = aten.isfinite.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_BOOL, {0, 0, 0, 1, 1, 1}},
    {"$x = input : float32[6]; $y = aten.signbit.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_BOOL, {0, 0, 1, 1, 0, 1}},
    {"$x = input : float32[6]; $y = aten.logical_not.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_BOOL, {0, 0, 0, 1, 0, 0}},
    {"$x = input : float32[6]; $y = aten.nan_to_num.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {0, 3.40282347e+38, -3.40282347e+38, -0.0, 2.0, -1.5}},
    {"$x = input : float32[6]; $y = aten.mish.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, (double)NAN, -0.0, 1.943959, -0.298099756}},
    {"$x = input : float32[6]; $y = aten.softplus.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, 0, 0.693147182, 2.12692809, 0.201413289}},
    {"$x = input : float32[6]; $y = aten.hardshrink.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, -(double)INFINITY, 0, 2.0, -1.5}},
    {"$x = input : float32[6]; $y = aten.softshrink.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 1.5, -1.0}},
    {"$x = input : float32[6]; $y = aten.square.default($x)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {(double)NAN, (double)INFINITY, (double)INFINITY, 0, 4.0, 2.25}},
    {"$x = input : float32[6]; $y = aten.nan_to_num.default($x, 1.0, 2.0, 3.0)", {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 2.0, -1.5}, NUC_F32, {1.0, 2.0, 3.0, -0.0, 2.0, -1.5}},
    {"$x = input : int8[6]; $y = aten.abs.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-128, 3, 0, 1, 5, 127}},
    {"$x = input : int8[6]; $y = aten.neg.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-128, 3, 0, -1, -5, -127}},
    {"$x = input : int8[6]; $y = aten.sign.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-1, -1, 0, 1, 1, 1}},
    {"$x = input : int8[6]; $y = aten.relu.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, 0, 0, 1, 5, 127}},
    {"$x = input : int8[6]; $y = aten.floor.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-128, -3, 0, 1, 5, 127}},
    {"$x = input : int8[6]; $y = aten.round.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-128, -3, 0, 1, 5, 127}},
    {"$x = input : int8[6]; $y = aten.bitwise_not.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {127, 2, -1, -2, -6, -128}},
    {"$x = input : bool[6]; $y = aten.bitwise_not.default($x)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {0, 1, 0, 0, 1, 1}},
    {"$x = input : int8[6]; $y = aten.square.default($x)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, 9, 0, 1, 25, 1}},
    {"$x = input : bool[6]; $y = aten.square.default($x)", {1, 0, 1, 1, 0, 0}, NUC_I64, {1, 0, 1, 1, 0, 0}},
    {"$x = input : int32[6]; $y = aten.sin.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-0.656986594, -0.141120002, 0, 0.841470957, -0.958924234, 0.656986594}},
    {"$x = input : int32[6]; $y = aten.sigmoid.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {0.000911051175, 0.0474258736, 0.5, 0.731058598, 0.993307173, 0.999089003}},
    {"$x = input : int32[6]; $y = aten.reciprocal.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-0.142857149, -0.333333343, (double)INFINITY, 1.0, 0.200000003, 0.142857149}},
    {"$x = input : int32[6]; $y = aten.exp2.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {0.0078125, 0.125, 1.0, 2.0, 32.0, 128.0}},
    {"$x = input : int32[6]; $y = aten.logical_not.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 1, 0, 0, 0}},
    {"$x = input : int32[6]; $y = aten.isnan.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 0, 0, 0, 0}},
    {"$x = input : int32[6]; $y = aten.isfinite.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : int32[6]; $y = aten.signbit.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 0, 0, 0, 0}},
    {"$x = input : int32[6]; $y = aten.clamp.default($x, -2, 3)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-2, -2, 0, 1, 3, 3}},
    {"$x = input : int32[6]; $y = aten.clamp.default($x, 3, -2)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-2, -2, -2, -2, -2, -2}},
    {"$x = input : int32[6]; $y = aten.clamp.default($x, 0.5, 3)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {0.5, 0.5, 0.5, 1.0, 3.0, 3.0}},
    {"$x = input : int8[6]; $y = aten.clamp.default($x, none, 2)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-128, -3, 0, 1, 2, 2}},
    {"$x = input : int64[6]; $y = aten.clamp_min.default($x, 1)", {-7, -3, 0, 1, 5, 7}, NUC_I64, {1, 1, 1, 1, 5, 7}},
    {"$x = input : float32[6]; $y = aten.clamp_max.default($x, 0.5)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.5, -0.5, 0, 0.5, 0.5, 0.5}},
    {"$x = input : int32[6]; $y = aten.threshold.default($x, 0, 9)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {9, 9, 9, 1, 5, 7}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, 2.0)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 2.25, 4.0, 16.0, 100.0, 10000.0}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, 3.0)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 3.375, 8.0, 64.0, 1000.0, 1000000.0}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, 0.5)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 1.22474492, 1.41421354, 2.0, 3.1622777, 10.0}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, -0.5)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 0.816496551, 0.707106769, 0.5, 0.316227764, 0.100000001}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, -1.0)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 0.666666687, 0.5, 0.25, 0.100000001, 0.00999999978}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, -2.0)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 0.444444448, 0.25, 0.0625, 0.00999999978, 9.99999975e-05}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, 0.0)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}},
    {"$x = input : float32[6]; $y = aten.pow.Tensor_Scalar($x, 2.5)", {1.0, 1.5, 2.0, 4.0, 10.0, 100.0}, NUC_F32, {1.0, 2.75567603, 5.65685415, 32.0, 316.227753, 100000.0}},
    {"$x = input : int32[6]; $y = aten.pow.Tensor_Scalar($x, 3)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-343, -27, 0, 1, 125, 343}},
    {"$x = input : bool[6]; $y = aten.pow.Tensor_Scalar($x, 2)", {1, 0, 1, 1, 0, 0}, NUC_I64, {1, 0, 1, 1, 0, 0}},
    {"$x = input : int32[6]; $y = aten.pow.Tensor_Scalar($x, 2.0)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {49.0, 9.0, 0, 1.0, 25.0, 49.0}},
    {"$x = input : int8[6]; $y = aten.pow.Tensor_Scalar($x, 20)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, -111, 0, 1, 49, 1}},
    {"$x = input : int32[6]; $y = aten.pow.Scalar(2, $x)", {0, 1, 5, 9, 30, 31}, NUC_I32, {1, 2, 32, 512, 1073741824, -2147483648}},
    {"$x = input : float32[6]; $y = aten.pow.Scalar(2.0, $x)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {0.176776692, 0.707106769, 1.0, 1.68179286, 2.82842708, 8.0}},
    {"$x = input : int32[6]; $y = aten.pow.Scalar(0.5, $x)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {128.0, 8.0, 1.0, 0.5, 0.03125, 0.0078125}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.add.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.5, -2.5, 0.75, 0.25, (double)NAN, 4.5}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.add.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-126, -5, 3, -4, 12, 126}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.add.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-5.0, -5.0, 0.75, 0.5, (double)NAN, 8.5}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.sub.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-4.5, 1.5, -0.75, 1.25, (double)NAN, 1.5}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.sub.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {126, -1, -3, 6, -2, -128}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.sub.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-9.0, -1.0, -0.75, 1.5, (double)NAN, 5.5}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.mul.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-5.0, 1.0, 0, -0.375, (double)NAN, 4.5}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.mul.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, 6, 0, -5, 35, -127}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.mul.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-14.0, 6.0, 0, -0.5, (double)NAN, 10.5}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.div.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.25, 0.25, 0, -1.5, (double)NAN, 2.0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.div.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_F32, {-64.0, 1.5, 0, -0.200000003, 0.714285731, -127.0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.div.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-3.5, 1.5, 0, -2.0, (double)NAN, 4.66666651}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.fmod.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.5, -0.5, 0, 0.25, (double)NAN, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.fmod.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, -1, 0, 1, 5, 0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.fmod.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-1.0, -1.0, 0, 0, (double)NAN, 1.0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.remainder.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {1.5, -0.5, 0, -0.25, (double)NAN, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.remainder.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, -1, 0, -4, 5, 0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.remainder.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {1.0, -1.0, 0, 0, (double)NAN, 1.0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.floor_divide.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.0, 0, 0, -2.0, (double)NAN, 2.0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.floor_divide.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-64, 1, 0, -1, 0, -127}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.floor_divide.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-4.0, 1.0, 0, -2.0, (double)NAN, 4.0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.maximum.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {2.0, -0.5, 0.75, 0.75, (double)NAN, 3.0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.maximum.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {2, -2, 3, 1, 7, 127}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.maximum.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {2.0, -2.0, 0.75, 1.0, (double)NAN, 7.0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.minimum.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.5, -2.0, 0, -0.5, (double)NAN, 1.5}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.minimum.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-128, -3, 0, -5, 5, -1}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.minimum.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-7.0, -3.0, 0, -0.5, (double)NAN, 1.5}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.atan2.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-0.8960554, -2.89661407, 0, 2.15879893, (double)NAN, 1.10714877}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.atan2.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_F32, {-1.55517256, -2.15879893, 0, 2.94419718, 0.62024951, 1.57867014}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.atan2.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-1.29249668, -2.15879893, 0, 2.03444386, (double)NAN, 1.35970294}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.eq.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {0, 0, 0, 0, 0, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.eq.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {0, 0, 0, 0, 0, 0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.eq.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 0, 0, 0, 0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.ne.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.ne.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.ne.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.lt.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {1, 0, 1, 0, 0, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.lt.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {1, 1, 1, 0, 1, 0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.lt.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 1, 0, 0, 0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.le.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {1, 0, 1, 0, 0, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.le.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {1, 1, 1, 0, 1, 0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.le.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 1, 0, 0, 0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.gt.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {0, 1, 0, 1, 0, 1}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.gt.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {0, 0, 0, 1, 0, 1}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.gt.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 0, 1, 0, 1}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.ge.Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {0, 1, 0, 1, 0, 1}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.ge.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {0, 0, 0, 1, 0, 1}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.ge.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 0, 1, 0, 1}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.logical_and.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {1, 1, 0, 1, 1, 1}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.logical_and.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {1, 1, 0, 1, 1, 1}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.logical_and.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 0, 1, 1, 1}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.logical_or.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.logical_or.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.logical_or.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {1, 1, 1, 1, 1, 1}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.logical_xor.default($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_BOOL, {0, 0, 1, 0, 0, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.logical_xor.default($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_BOOL, {0, 0, 1, 0, 0, 0}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.logical_xor.default($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 1, 0, 0, 0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.pow.Tensor_Tensor($x, $c)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {6.25, 4.0, 0, 1.15470052, (double)NAN, 5.19615221}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, 2, 3, 0, 7, 1); $y = aten.pow.Tensor_Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, 9, 0, 1, 45, 127}},
    {"$x = input : int32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.pow.Tensor_Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {49.0, 0.111111112, 0, 1.0, (double)NAN, 18.5202599}},
    {"$x = input : bool[6]; $c = buffer : bool[6] values(1, 1, 0, 0, 1, 0); $y = aten.add.Tensor($x, $c)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {1, 1, 1, 1, 1, 0}},
    {"$x = input : bool[6]; $c = buffer : bool[6] values(1, 1, 0, 0, 1, 0); $y = aten.mul.Tensor($x, $c)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {1, 0, 0, 0, 0, 0}},
    {"$x = input : bool[6]; $c = buffer : bool[6] values(1, 1, 0, 0, 1, 0); $y = aten.maximum.default($x, $c)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {1, 1, 1, 1, 1, 0}},
    {"$x = input : bool[6]; $c = buffer : bool[6] values(1, 1, 0, 0, 1, 0); $y = aten.eq.Tensor($x, $c)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {1, 0, 0, 0, 0, 1}},
    {"$x = input : bool[6]; $c = buffer : bool[6] values(1, 1, 0, 0, 1, 0); $y = aten.logical_xor.default($x, $c)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {0, 1, 1, 1, 1, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, 1, 3, 9, 7, -1); $y = aten.bitwise_and.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, 1, 0, 1, 5, 127}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, 1, 3, 9, 7, -1); $y = aten.bitwise_or.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-126, -3, 3, 9, 7, -1}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, 1, 3, 9, 7, -1); $y = aten.bitwise_xor.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-126, -4, 3, 8, 2, -128}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, 1, 3, 9, 7, -1); $y = aten.bitwise_left_shift.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {0, -6, 0, 0, -128, 0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, 1, 3, 9, 7, -1); $y = aten.bitwise_right_shift.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-32, -2, 0, 0, 0, 0}},
    {"$x = input : bool[6]; $c = buffer : bool[6] values(1, 1, 0, 0, 1, 0); $y = aten.bitwise_and.Tensor($x, $c)", {1, 0, 1, 1, 0, 0}, NUC_BOOL, {1, 0, 0, 0, 0, 0}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.div.Tensor_mode($x, $c, rounding_mode=\"trunc\")", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-1.0, 0, 0, -1.0, (double)NAN, 2.0}},
    {"$x = input : int32[6]; $c = buffer : int32[6] values(2, -2, 3, -5, 7, -1); $y = aten.div.Tensor_mode($x, $c, rounding_mode=\"trunc\")", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-3, 1, 0, 0, 0, -7}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(2.0, -2.0, 0.75, -0.5, nan, 1.5); $y = aten.div.Tensor_mode($x, $c, rounding_mode=\"floor\")", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.0, 0, 0, -2.0, (double)NAN, 2.0}},
    {"$x = input : int32[6]; $c = buffer : int32[6] values(2, -2, 3, -5, 7, -1); $y = aten.div.Tensor_mode($x, $c, rounding_mode=\"floor\")", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-4, 1, 0, -1, 0, -7}},
    {"$x = input : int32[6]; $c = buffer : int32[6] values(2, -2, 3, -5, 7, -1); $y = aten.div.Tensor_mode($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-3.5, 1.5, 0, -0.200000003, 0.714285731, -7.0}},
    {"$x = input : uint8[6]; $c = buffer : int8[6] values(1, -1, 2, 100, -100, 1); $y = aten.add.Tensor($x, $c)", {0, 1, 2, 100, 200, 255}, NUC_I16, {1, 0, 4, 200, 100, 256}},
    {"$x = input : int32[6]; $c = buffer : int32[] values(2); $y = aten.add.Tensor($x, $c, alpha=3)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-1, 3, 6, 7, 11, 13}},
    {"$x = input : int64[6]; $c = buffer : float32[] values(0.5); $y = aten.gt.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_BOOL, {0, 0, 0, 1, 1, 1}},
    {"$x = input : float32[6]; $c = buffer : bool[6] values(1, 0, 0, 1, 1, 0); $n = aten.neg.default($x); $y = aten.where.self($c, $x, $n)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-2.5, 0.5, -0.0, 0.75, 1.5, -3.0}},
    {"$x = input : int32[6]; $c = buffer : bool[6] values(1, 0, 0, 1, 1, 0); $f = constant : float32[] values(0.5); $h = aten.mul.Tensor($x, $f); $y = aten.where.self($c, $x, $h)", {-7, -3, 0, 1, 5, 7}, NUC_F32, {-7.0, -1.5, 0, 1.0, 5.0, 3.5}},
    {"$x = input : float32[6]; $c = buffer : float32[6] values(1.0, 3.0, 2.0, 0.0, 1.0, 5.0); $y = aten.eq_.Tensor($x, $c)", {1.0, 2.0, (double)NAN, 0, -1.0, 5.0}, NUC_F32, {1.0, 0, 0, 1.0, 0, 1.0}},
    {"$x = input : int32[6]; $y = aten.logical_not_.default($x)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {0, 0, 1, 0, 0, 0}},
    {"$x = input : int32[6]; $c = buffer : int32[6] values(2, -2, 3, -5, 7, -1); $y = aten.floor_divide_.Tensor($x, $c)", {-7, -3, 0, 1, 5, 7}, NUC_I32, {-4, 1, 0, -1, 0, -7}},
    {"$x = input : float32[6]; $y = aten.pow_.Scalar($x, 3)", {-2.5, -0.5, 0, 0.75, 1.5, 3.0}, NUC_F32, {-15.625, -0.125, 0, 0.421875, 3.375, 27.0}},
    {"$x = input : int8[6]; $c = buffer : int8[6] values(2, -2, 3, -5, 7, -1); $y = aten.bitwise_xor_.Tensor($x, $c)", {-128, -3, 0, 1, 5, 127}, NUC_I8, {-126, 3, 3, -6, 2, -128}},
};
/* clang-format on */

static void store(enum nuc_dtype dtype, void *data, size_t i, double value)
{
    switch ((int)dtype) {
    case NUC_F32:
        ((float *)data)[i] = (float)value;
        break;
    case NUC_I64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    case NUC_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case NUC_I16:
        ((int16_t *)data)[i] = (int16_t)value;
        break;
    default:
        ((uint8_t *)data)[i] = (uint8_t)(int)value;
        break;
    }
}

static double load(enum nuc_dtype dtype, const void *data, size_t i)
{
    switch ((int)dtype) {
    case NUC_F32:
        return (double)((const float *)data)[i];
    case NUC_I64:
        return (double)((const int64_t *)data)[i];
    case NUC_I32:
        return ((const int32_t *)data)[i];
    case NUC_I16:
        return ((const int16_t *)data)[i];
    case NUC_I8:
        return ((const int8_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

static bool equals(enum nuc_dtype dtype, double value, double expected)
{
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(value) : isinf(value) && (value > 0) == (expected > 0);
    return dtype == NUC_F32 ? fabs(value - expected) <= 1e-6 * fabs(expected) + 4e-7 : fabs(value - expected) < 0.5;
}

static void expect(const struct row *row, const char *by, const void *out)
{
    for (size_t i = 0; i < N; i++) {
        double value = load(row->dtype, out, i);
        if (!equals(row->dtype, value, row->expected[i]))
            fail_msg("%s: element %zu is %.9g by the %s, not %.9g", row->text, i, value, by, row->expected[i]);
    }
}

static void run_program(struct nuc_context *cx, const struct row *row, struct nuc_graph *g, const void *in)
{
    struct nuc_program_options o = {.method = NULL};
    struct test_program p;
    struct nuc_tensor t;

    nuc_expand(g);
    nuc_to_edge(g, NULL);
    test_load(cx, &p, nuc_write_program(g, &o), NULL);
    if (p.status != NUC_OK)
        fail_msg("%s: %s", row->text, p.detail.message);
    assert_int_equal(nuc_program_input_info(&p.program, 0, &t), NUC_OK);
    assert_int_equal(nuc_program_set_input(&p.program, 0, in, t.bytes, NULL), NUC_OK);
    if (nuc_program_execute(&p.program, &p.detail) != NUC_OK)
        fail_msg("%s: %s", row->text, p.detail.message);
    assert_int_equal(nuc_program_output(&p.program, 0, &t), NUC_OK);
    assert_int_equal(t.dtype, row->dtype);
    expect(row, "program", t.data);
}

static void run_row(struct nuc_context *cx, void *arg)
{
    const struct row *row = arg;
    struct nuc_graph *g = graph_in(cx, "%s", row->text);
    const struct nuc_meta *m = &node_of(g, "x")->vals[0];
    int64_t in[N], out[N];

    for (size_t i = 0; i < N; i++)
        store(m->dtype, in, i, row->in[i]);
    assert_int_equal(evaluate(g, in, out)->dtype, row->dtype);
    expect(row, "evaluator", out);
    run_program(cx, row, g, in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ROW_TEST(run_row, rows)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
