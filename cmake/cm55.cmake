# Cortex-M55 with its vector extension, integers and floats, as in QEMU's mps3-an547.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# Call graphs with stack usage lie beside the objects, for tools/stack_bound.sh.
set(cm55_flags "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard")
set(CMAKE_C_FLAGS_INIT "${cm55_flags} -ffunction-sections -fdata-sections -fcallgraph-info=su")
set(CMAKE_ASM_FLAGS_INIT "${cm55_flags}")
set(NUCLEON_BOARD mps3_an547)
