# Writes the version script of libnucleon.so: the functions that the headers of the folder HEADERS/nucleon declare, as
# the preprocessor CC leaves them, in the file OUT. Functions of the driver API that have no prefix of their own (matmul)
# are left out: they belong to another kind of NPU, and would stand in for an application's.
file(GLOB headers ${HEADERS}/nucleon/*.h)
set(names "")
foreach(header IN LISTS headers)
    execute_process(COMMAND ${CC} -E -P -I${HEADERS} ${header} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE ";" "\n@" text "${text}") # a list separator in CMake; here the end of a declaration
    string(REPLACE "[" "<" text "${text}") # brackets keep a list together
    string(REPLACE "]" ">" text "${text}")
    set(before "")
    while(NOT text STREQUAL before) # bodies of structures, enumerations and inline functions
        set(before "${text}")
        string(REGEX REPLACE "{[^{}]*}" "\n@" text "${text}")
    endwhile()
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    string(REPLACE "@" ";" declarations "${text}")
    foreach(declaration IN LISTS declarations)
        if(declaration MATCHES "^ ?(typedef|static)" OR
           NOT declaration MATCHES "^[A-Za-z0-9_ *]*[ *]((nuc_|neutron|getNeutron)[A-Za-z0-9_]*) ?\\(")
            continue()
        endif()
        list(APPEND names ${CMAKE_MATCH_1})
    endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(SORT names)
list(JOIN names ";\n        " lines)
file(WRITE ${OUT} "{\n    global:\n        ${lines};\n    local:\n        *;\n};\n")
