# Vector kernels of the host: a target an instruction set, compiled for it, and the part that chooses among them.
find_package(Threads REQUIRED)
set(NPUSIM_VECTOR_OBJECTS "")
function(npusim_vector name)
    cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS" ${ARGN})
    list(TRANSFORM ARG_SOURCES PREPEND vector/)
    add_library(npusim_${name} OBJECT ${ARG_SOURCES})
    nucleon_common(npusim_${name})
    target_include_directories(npusim_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(npusim_${name} PRIVATE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
    target_compile_options(npusim_${name} PRIVATE -fno-math-errno ${ARG_FLAGS}
        $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
    target_sources(nuc_npusim PRIVATE $<TARGET_OBJECTS:npusim_${name}>)
    set(NPUSIM_VECTOR_OBJECTS ${NPUSIM_VECTOR_OBJECTS} $<TARGET_OBJECTS:npusim_${name}> PARENT_SCOPE)
endfunction()

npusim_vector(vector SOURCES
    vector_depthwise.c vector_host.c vector_pack.c vector_plan.c vector_product.c vector_run.c vector_threads.c
    vector_window.c)
target_link_libraries(nuc_npusim PUBLIC Threads::Threads)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    npusim_vector(avx2 SOURCES host_x86_avx2.c FLAGS -mavx2)
    npusim_vector(avx512 SOURCES host_x86_avx512.c FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni
        -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    npusim_vector(neon SOURCES host_arm_neon.c FLAGS -march=armv8.2-a+dotprod)
endif()
