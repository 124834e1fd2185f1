# The library as one file: libnucleon.so, whose symbols are the functions of the public headers. Its objects are those of
# the folders' libraries.
get_property(folders GLOBAL PROPERTY NUCLEON_LIBRARIES)
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE folder_objects)
get_property(simulator_objects GLOBAL PROPERTY NUCLEON_SIMULATOR_OBJECTS)

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/nucleon/*.h)
set(symbol_map ${PROJECT_BINARY_DIR}/nucleon.map)
add_custom_command(OUTPUT ${symbol_map}
    COMMAND ${CMAKE_COMMAND} -DHEADERS=${PROJECT_SOURCE_DIR}/include -DCC=${CMAKE_C_COMPILER} -DOUT=${symbol_map}
        -P ${PROJECT_SOURCE_DIR}/cmake/symbols.cmake
    DEPENDS ${public_headers} ${PROJECT_SOURCE_DIR}/cmake/symbols.cmake VERBATIM)
add_custom_target(symbol_map DEPENDS ${symbol_map})

# Calls inside the library stay inside: an application may have a driver of its own, or other functions of these names.
add_library(nucleon_shared SHARED ${folder_objects} ${simulator_objects})
add_dependencies(nucleon_shared symbol_map)
set_target_properties(nucleon_shared PROPERTIES OUTPUT_NAME nucleon LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
    LINK_DEPENDS ${symbol_map})
target_include_directories(nucleon_shared INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(nucleon_shared PRIVATE PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG PkgConfig::JANSSON
    Threads::Threads m)
target_link_options(nucleon_shared PRIVATE -Wl,--version-script=${symbol_map} -Wl,-Bsymbolic-functions)
if(NUCLEON_SANITIZE STREQUAL "thread")
    target_link_options(nucleon_shared PRIVATE -fsanitize=thread)
elseif(NUCLEON_SANITIZE)
    target_link_options(nucleon_shared PRIVATE -fsanitize=address,undefined)
else()
    target_link_options(nucleon_shared PRIVATE -Wl,--no-undefined)
endif()
