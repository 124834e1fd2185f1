# The page's sources as arrays of bytes: cmake -DOUTPUT=FILE.c -DFOLDER=page -P embed.cmake. Scripts follow each other by
# name, main.js is the last.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/embed.cmake)

set(text "/* Made by embed.cmake. */\n#include \"tools/report/page_sources.h\"\n\n")
file(GLOB scripts ${FOLDER}/*.js)
list(SORT scripts)
if(EXISTS ${FOLDER}/main.js)
    list(REMOVE_ITEM scripts ${FOLDER}/main.js)
    list(APPEND scripts ${FOLDER}/main.js)
endif()
embed_array(text nuc_page_html ${FOLDER}/page.html)
embed_array(text nuc_page_css ${FOLDER}/page.css)
embed_array(text nuc_page_js ${scripts})
file(WRITE ${OUTPUT} "${text}")
