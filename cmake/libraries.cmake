# The libraries that users see, made of the objects of the folders' libraries:
#   nucleon::compiler         libnucleon.so, whose symbols are the functions of the public headers
#   nucleon::compiler_static  libnucleon.a: the same, runtime and simulator included
#   nucleon::runtime          libnucleon-runtime.a: programs; an NPU driver is linked beside it where they need one
#   nucleon::simulator        libnucleon-simulator.a: the simulator as that driver
# In the tree as after find_package(nucleon). In the tree alone, the two parts of libnucleon:
#   nucleon-compiler          what compiles and runs, for an application that embeds it with add_subdirectory()
#   nucleon-tools             what people look at: evaluation, reports, tuning, C sources; linked in front of the other
get_property(folders GLOBAL PROPERTY NUCLEON_LIBRARIES)
get_property(tool_folders GLOBAL PROPERTY NUCLEON_TOOLS)
get_property(simulator_objects GLOBAL PROPERTY NUCLEON_SIMULATOR_OBJECTS)
get_property(kernel_objects GLOBAL PROPERTY NUCLEON_KERNEL_OBJECTS)

function(nucleon_objects variable)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
    set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# nucleon_product(target STATIC|SHARED name file OBJECTS...): nucleon::name in lib<file>.
function(nucleon_product target kind name file)
    add_library(${target} ${kind} ${ARGN})
    add_library(nucleon::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} OUTPUT_NAME ${file} LINKER_LANGUAGE C
        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    if(NUCLEON_SANITIZE STREQUAL "thread")
        target_link_options(${target} PUBLIC -fsanitize=thread)
    elseif(NUCLEON_SANITIZE)
        target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    endif()
endfunction()

# What several begin with is in each, so that each may be linked alone.
nucleon_objects(base_objects nuc_base)
nucleon_objects(runtime_objects nuc_runtime nuc_kernels nuc_signal nuc_decision)
nucleon_objects(driver_objects nuc_npusim)
if(NUCLEON_BUILD_HOST)
    nucleon_objects(thread_objects nuc_threads)
endif()
nucleon_product(nucleon_runtime STATIC runtime nucleon-runtime ${runtime_objects} ${kernel_objects} ${base_objects})
target_link_libraries(nucleon_runtime INTERFACE m)
nucleon_product(nucleon_simulator STATIC simulator nucleon-simulator ${driver_objects} ${simulator_objects}
    ${thread_objects} ${base_objects})
target_link_libraries(nucleon_simulator INTERFACE m)
if(NOT NUCLEON_BUILD_HOST)
    return()
endif()
target_link_libraries(nucleon_simulator INTERFACE Threads::Threads)

set(compiler_folders ${folders})
list(REMOVE_ITEM compiler_folders ${tool_folders})
nucleon_objects(compiler_objects ${compiler_folders})
set(compiler_objects ${compiler_objects} ${simulator_objects} ${kernel_objects})
nucleon_objects(tool_objects ${tool_folders})
set(all_objects ${compiler_objects} ${tool_objects})
set(used_libraries PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG PkgConfig::JANSSON Threads::Threads m)
nucleon_product(nucleon_static STATIC compiler_static nucleon ${all_objects})
target_link_libraries(nucleon_static INTERFACE ${used_libraries})

# Each part by itself; that the compiler is whole without the tools is seen when it is linked.
nucleon_product(nucleon-compiler SHARED nucleon-compiler nucleon-compiler ${compiler_objects})
target_link_libraries(nucleon-compiler PUBLIC ${used_libraries})
if(NOT NUCLEON_SANITIZE)
    target_link_options(nucleon-compiler PRIVATE -Wl,--no-undefined)
endif()
nucleon_product(nucleon-tools STATIC nucleon-tools nucleon-tools ${tool_objects})
target_link_libraries(nucleon-tools INTERFACE nucleon-compiler)

# The functions of the headers, from the headers. Calls inside the library stay inside: an application may have a driver
# of its own, or other functions of these names.
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/nucleon/*.h)
set(symbol_map ${PROJECT_BINARY_DIR}/nucleon.map)
add_custom_command(OUTPUT ${symbol_map}
    COMMAND ${CMAKE_COMMAND} -DHEADERS=${PROJECT_SOURCE_DIR}/include -DCC=${CMAKE_C_COMPILER} -DOUT=${symbol_map}
        -P ${PROJECT_SOURCE_DIR}/cmake/symbols.cmake
    DEPENDS ${public_headers} ${PROJECT_SOURCE_DIR}/cmake/symbols.cmake VERBATIM)
add_custom_target(symbol_map DEPENDS ${symbol_map})
nucleon_product(nucleon_shared SHARED compiler nucleon ${all_objects})
add_dependencies(nucleon_shared symbol_map)
set_target_properties(nucleon_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${symbol_map})
target_link_libraries(nucleon_shared PRIVATE ${used_libraries})
target_link_options(nucleon_shared PRIVATE -Wl,--version-script=${symbol_map} -Wl,-Bsymbolic-functions)
if(NOT NUCLEON_SANITIZE)
    target_link_options(nucleon_shared PRIVATE -Wl,--no-undefined)
endif()

# The same for wheels, in build/wheel: with the other libraries inside, so that it is for every Linux. Debian compiles static
# libraries for programs, which read the C library's streams as a shared library cannot: copies of them read variables.
set(copies "")
foreach(library png16 jpeg jansson z)
    find_library(NUCLEON_STATIC_${library} lib${library}.a)
    mark_as_advanced(NUCLEON_STATIC_${library})
    if(NUCLEON_STATIC_${library})
        add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/wheel/${library}.a VERBATIM
            COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/wheel
            COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=nuc_stderr --redefine-sym stdin=nuc_stdin
                ${NUCLEON_STATIC_${library}} ${PROJECT_BINARY_DIR}/wheel/${library}.a)
        list(APPEND copies ${PROJECT_BINARY_DIR}/wheel/${library}.a)
    endif()
endforeach()
list(LENGTH copies count)
if(count EQUAL 4 AND NOT NUCLEON_SANITIZE)
    add_custom_target(wheel_libraries DEPENDS ${copies})
    add_library(nucleon_wheel SHARED EXCLUDE_FROM_ALL ${all_objects} cmake/streams.c)
    nucleon_common(nucleon_wheel)
    add_dependencies(nucleon_wheel symbol_map wheel_libraries)
    set_target_properties(nucleon_wheel PROPERTIES OUTPUT_NAME nucleon SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${symbol_map}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel)
    target_link_libraries(nucleon_wheel PRIVATE ${copies} Threads::Threads m)
    target_link_options(nucleon_wheel PRIVATE -s -Wl,--version-script=${symbol_map} -Wl,-Bsymbolic-functions -Wl,--no-undefined)
endif()
