# What is installed besides libraries and the command: manual pages, completion, documentation, the sources of what runs
# on the microcontroller, the Python module. tools/deb.sh makes Debian packages of what is installed here.
if(NOT NUCLEON_BUILD_HOST)
    return()
endif()

# ---- what nucleon says about itself, in files ----

set(NUCLEON_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where the completion of zsh goes")
set(manual ${PROJECT_BINARY_DIR}/manual)
add_custom_command(OUTPUT ${manual}/man/nucleon.1
    COMMAND sh ${PROJECT_SOURCE_DIR}/tools/manual.sh $<TARGET_FILE:nucleon> ${manual}
    DEPENDS nucleon ${PROJECT_SOURCE_DIR}/tools/manual.sh COMMENT "Writing manual pages and completion")
add_custom_target(manual ALL DEPENDS ${manual}/man/nucleon.1)
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual}/bash/nucleon DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${manual}/zsh/_nucleon DESTINATION ${NUCLEON_ZSH_DIR})

# ---- documentation and examples: links between them are those of the source tree ----

install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "__pycache__" EXCLUDE)

# ---- sources for firmware projects: add_subdirectory(PREFIX/src/nucleon), see docs/firmware.md ----

set(runtime_sources src/nucleon)
install(FILES CMakeLists.txt LICENSE DESTINATION ${runtime_sources})
install(FILES tools/check_layers.cmake DESTINATION ${runtime_sources}/tools)
install(DIRECTORY cmake DESTINATION ${runtime_sources})
install(DIRECTORY include/nucleon DESTINATION ${runtime_sources}/include)
install(FILES src/CMakeLists.txt DESTINATION ${runtime_sources}/src)
install(DIRECTORY src/device DESTINATION ${runtime_sources}/src)

# ---- the Python module, where a folder is given ----

set(NUCLEON_PYTHON_DIR "" CACHE STRING "Where the Python module goes, lib/python3/dist-packages for instance; empty: nowhere")
if(NUCLEON_PYTHON_DIR)
    install(DIRECTORY python/nucleon DESTINATION ${NUCLEON_PYTHON_DIR} PATTERN "__pycache__" EXCLUDE)
    file(WRITE ${PROJECT_BINARY_DIR}/python/METADATA "Metadata-Version: 2.1\nName: nucleon\nVersion: ${PROJECT_VERSION}\n"
        "Summary: ${PROJECT_DESCRIPTION}\nLicense: Apache-2.0\nRequires-Python: >=3.11\n")
    install(FILES ${PROJECT_BINARY_DIR}/python/METADATA
        DESTINATION ${NUCLEON_PYTHON_DIR}/nucleon-${PROJECT_VERSION}.dist-info)
endif()
