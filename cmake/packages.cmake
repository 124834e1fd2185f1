# What packages hold besides libraries and the command: manual pages, completion, documentation, the Python module, the
# sources of what runs on the microcontroller; and the Debian packages, of `cpack -G DEB` (make deb).
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
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${manual}/bash/nucleon DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command)
install(FILES ${manual}/zsh/_nucleon DESTINATION ${NUCLEON_ZSH_DIR} COMPONENT command)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
