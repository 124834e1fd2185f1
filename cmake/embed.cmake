# Files as arrays of bytes, for scripts that make C sources: include(embed.cmake), then
# embed_array(VARIABLE NAME FILE...) appends "const char NAME[]", the bytes of the files one after the other and a zero,
# and "const size_t NAME_size", without the zero, to the text in VARIABLE.
function(embed_array variable name)
    set(hex "")
    foreach(file IN LISTS ARGN)
        file(READ ${file} bytes HEX)
        string(APPEND hex "${bytes}")
    endforeach()
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
    set(${variable} "${${variable}}const char ${name}[] = {\n${hex}'\\0'};\nconst size_t ${name}_size = ${size};\n\n" PARENT_SCOPE)
endfunction()
