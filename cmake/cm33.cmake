# Cortex-M33 with DSP extension and single-precision FPU, as on the i.MX RT700 and QEMU's mps2-an505.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# Call graphs with stack usage lie beside the objects, for tools/stack_bound.sh.
set(cm33_flags "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16")
set(CMAKE_C_FLAGS_INIT "${cm33_flags} -ffunction-sections -fdata-sections -fcallgraph-info=su")
set(CMAKE_ASM_FLAGS_INIT "${cm33_flags}")
set(NUCLEON_BOARD mps2_an505)
