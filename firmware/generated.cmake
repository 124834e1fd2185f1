# The image with generated C: no program file, no reader, only the kernels the program calls.
set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated_${name})
add_custom_command(OUTPUT ${generated}/model.c ${generated}/model_data.c ${generated}/model.h
    COMMAND ${NUCLEON_HOST} codegen ${NUCLEON_PROGRAM} -o ${generated} --name model
    DEPENDS ${NUCLEON_PROGRAM} ${NUCLEON_HOST})
if(NUCLEON_NPU STREQUAL "none")
    set(start runner/start_cpu.c)
else()
    set(start runner/start_npu.c)
endif()
add_executable(firmware runner/generated_runner.c ${start} ${generated}/model.c ${generated}/model_data.c
    ${generated}/model.h ${port}/startup.c ${port}/port.c)
set_target_properties(firmware PROPERTIES OUTPUT_NAME ${name}_generated.elf LINK_DEPENDS ${port}/mps2_an505.ld)
nucleon_common(firmware)
target_include_directories(firmware PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${generated})
target_compile_options(firmware PRIVATE -ffreestanding)
# Constants go where the runner's image has its program, so that sizes compare.
set_source_files_properties(${generated}/model_data.c PROPERTIES COMPILE_OPTIONS "-fdata-sections")
target_link_options(firmware PRIVATE -nostartfiles -T ${port}/mps2_an505.ld -Wl,--gc-sections
    -Wl,-Map=${CMAKE_CURRENT_BINARY_DIR}/${name}_generated.map)
target_link_libraries(firmware PRIVATE nuc_runtime nuc_kernels nuc_base)
if(NUCLEON_NPU STREQUAL "sim")
    target_link_libraries(firmware PRIVATE nuc_npusim)
elseif(NOT NUCLEON_NPU STREQUAL "none")
    target_link_libraries(firmware PRIVATE ${NUCLEON_NPU})
endif()
