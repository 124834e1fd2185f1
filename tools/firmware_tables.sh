#!/bin/sh
# firmware_tables.sh NUCLEON PROGRAM.pte KERNELS_H NPU: C source with the operator table a program needs, taken from the
# rows of KERNELS_H (include/nucleon/kernels.h), and the backend table. NPU: none, or anything else for the driver API.
set -eu
[ $# -eq 4 ] || { echo "usage: firmware_tables.sh NUCLEON PROGRAM.pte KERNELS_H NPU" >&2; exit 2; }
names=$("$1" inspect "$2" | sed -n 's/^ *[0-9][0-9]*: \([a-z_]*::[A-Za-z0-9_.]*\) .*/\1/p' | sort -u)
printf '#include "firmware/runner/runner.h"\n\n#define X(name, signature, run) {name, signature, run},\n'
printf '#define M NUC_MAP_ROW\n#define B NUC_BINARY_ROW\n\nstatic const struct nuc_kernel_entry entries[] = {\n'
for name in $names; do
    short=${name#aten::}
    short=${short%.out}
    row=$(grep -F -e "X(\"$name\"," -e "M(X, $short)" -e "B(X, $short)" "$3" | sed 's/ *\\*$//')
    [ -n "$row" ] || { echo "firmware_tables.sh: $2: the runtime lacks operator $name" >&2; exit 1; }
    printf '%s\n' "$row"
done
printf '    {"", "", NULL},\n};\n\n'
printf 'const struct nuc_kernel_table nuc_firmware_kernels = {entries, sizeof entries / sizeof entries[0] - 1};\n\n'
if [ "$4" = none ]; then
    printf 'const struct nuc_backend_table nuc_firmware_backends = {NULL, 0};\n\n'
    printf 'int nuc_firmware_start_npu(void)\n{\n    return 0;\n}\n'
else
    printf '#include "nucleon/NeutronDriver.h"\n\n'
    printf 'static const struct nuc_backend *const backends[] = {&nuc_neutron_backend};\n\n'
    printf 'const struct nuc_backend_table nuc_firmware_backends = {backends, 1};\n\n'
    printf 'int nuc_firmware_start_npu(void)\n{\n    return neutronInit() == ENONE ? 0 : 1;\n}\n'
fi
