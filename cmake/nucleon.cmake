# One library per folder; its link list is the layer rule: a folder sees only the headers of what it links.

set(NUCLEON_WARNINGS
    -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Wformat=2 -Wundef -Wvla
    -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wimplicit-fallthrough
    -Wnull-dereference -Wswitch-enum)
if(NUCLEON_WERROR)
    list(APPEND NUCLEON_WARNINGS -Werror)
endif()

function(nucleon_common target)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
    # On the device, relocated constant tables would lie in writable memory; WebAssembly has no shared libraries.
    if(NOT NUCLEON_DEVICE_ONLY AND NOT EMSCRIPTEN)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    # Without fused multiply-adds floats are the same bits on every machine.
    target_compile_options(${target} PRIVATE ${NUCLEON_WARNINGS} $<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>)
    if(NUCLEON_SANITIZE STREQUAL "thread")
        target_compile_options(${target} PRIVATE -fsanitize=thread -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=thread)
    elseif(NUCLEON_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all
            -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    endif()
    if(NUCLEON_FUZZ)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(NUCLEON_SANITIZE OR NUCLEON_FUZZ)
        # Assertions, whatever the build type; instrumented code hides from gcc what was checked.
        target_compile_options(${target} PRIVATE -UNDEBUG -Wno-null-dereference)
    endif()
endfunction()

# nucleon_library(name SOURCES ... [DEPS ...] [FREESTANDING] [LOOPS])
# Headers are seen as "<folder>/x.h" from the source tree; the dependency list is checked against the includes.
# LOOPS: what runs over every sample, in which an unoptimised compiler spends nine tenths of its time; debug and sanitizer
# builds optimise it, too.
function(nucleon_library name)
    cmake_parse_arguments(ARG "FREESTANDING;LOOPS" "" "SOURCES;DEPS" ${ARGN})
    add_library(nuc_${name} STATIC ${ARG_SOURCES})
    nucleon_common(nuc_${name})
    target_include_directories(nuc_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    set_property(GLOBAL APPEND PROPERTY NUCLEON_LIBRARIES nuc_${name})
    target_link_libraries(nuc_${name} PUBLIC ${ARG_DEPS})
    if(ARG_LOOPS AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
        target_compile_options(nuc_${name} PRIVATE -O2)
    endif()
    if(ARG_FREESTANDING)
        target_compile_options(nuc_${name} PRIVATE -ffreestanding -fno-math-errno)
    else()
        target_compile_definitions(nuc_${name} PRIVATE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
    endif()
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
    string(REPLACE ";" " " deps "${ARG_DEPS}")
    set_property(GLOBAL APPEND PROPERTY NUCLEON_LAYERS "${folder}=${deps}")
endfunction()

# nucleon_tool(name SOURCES ... [DEPS ...])
# A room of src/tools, a part of nucleon-tools: it includes the public headers and what DEPS names, and links whatever
# implements these headers.
function(nucleon_tool name)
    nucleon_library(${name} ${ARGN})
    target_link_libraries(nuc_${name} PUBLIC nuc_run nuc_driver)
    set_property(GLOBAL APPEND PROPERTY NUCLEON_TOOLS nuc_${name})
endfunction()
