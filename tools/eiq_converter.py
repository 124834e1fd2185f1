#!/usr/bin/python3
"""The compiler of NXP's Python package eiq-neutron-sdk as a command, for 'nucleon compile --converter':

    eiq_converter.py --input IN.tflite --output OUT.tflite --target imxrt700 [options]

Packages up to 3.2.2 call it neutron_converter, newer ones neutron_compiler. nucleon gives the first three options; those of the package are words of the command:
    nucleon compile model.pt2 ... --converter "python3 tools/eiq_converter.py --fetch-constants-to-sram"
"""

import argparse
import importlib
import sys


def import_compiler(package):
    """The module, and its function that compiles a model."""
    try:
        module = importlib.import_module(package + ".neutron_compiler")
        return module, module.compileModel
    except ImportError:
        module = importlib.import_module(package + ".neutron_converter")
        return module, module.convertModel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--fetch-constants-to-sram", action="store_true", help="weights stay in flash")
    parser.add_argument("--use-profiling", action="store_true", help="the microcode records the time of each kernel")
    parser.add_argument("--dump-kernel-selection-code", action="store_true", help="write _kernel_selection.c here")
    parser.add_argument("--min-num-ops-per-graph", type=int, default=1, metavar="N")
    parser.add_argument("--exclude-graph-passes", default="HoistSliceAboveTranspose,MergeTranspose", metavar="LIST",
                        help="as ExecuTorch's backend excludes them (default)")
    parser.add_argument("--package", default="eiq_neutron_sdk", help="the package that has the compiler")
    arguments = parser.parse_args()

    try:
        compiler, compile_model = import_compiler(arguments.package)
        utilities = importlib.import_module(arguments.package + ".neutron_library_utils")
    except ImportError as error:
        sys.exit(f"eiq_converter.py: {error}: pip install --index-url https://eiq.nxp.com/repository eiq-neutron-sdk")
    # The compiler ends the process for a target that it does not know.
    if not utilities.isNeutronTarget(arguments.target):
        known = ", ".join(target.name for target in utilities.getNeutronTargets())
        sys.exit(f"eiq_converter.py: the package does not know target '{arguments.target}': {known}")

    context = compiler.CompilationContext()
    context.targetOpts = compiler.getNeutronTarget(arguments.target)
    options = context.compilationOpts
    options.minNumOpsPerGraph = arguments.min_num_ops_per_graph
    options.excludeGraphPasses = arguments.exclude_graph_passes
    options.fetchConstantsToSRAM = arguments.fetch_constants_to_sram
    options.dumpKernelSelectionCode = arguments.dump_kernel_selection_code
    if arguments.use_profiling:
        options.useProfiling = True
    with open(arguments.input, "rb") as file:
        model = file.read()
    converted = bytes(compile_model(list(model), context))
    with open(arguments.output, "wb") as file:
        file.write(converted)


if __name__ == "__main__":
    main()
