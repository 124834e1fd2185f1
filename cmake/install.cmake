# What an application needs: headers, libraries, the command, a CMake package and pkg-config files.
#   find_package(nucleon)  ->  nucleon::runtime (programs), nucleon::simulator (the simulator as NPU driver),
#                              nucleon::nuc_driver (the compiler, on the host)
#   pkg-config nucleon-runtime, nucleon
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY NUCLEON_LIBRARIES)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nucleon)

if(TARGET nucleon_shared)
    install(TARGETS nucleon_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/nucleon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${libraries} EXPORT nucleon-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET NeutronDriver)
    install(TARGETS NeutronDriver LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET nucleon)
    install(TARGETS nucleon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES docs/schema/nucleon.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/nucleon) # of its --json
endif()
install(EXPORT nucleon-targets NAMESPACE nucleon:: DESTINATION ${package_dir})

set(NUCLEON_HAS_COMPILER ${NUCLEON_BUILD_HOST})
configure_package_config_file(cmake/nucleonConfig.cmake.in ${PROJECT_BINARY_DIR}/nucleonConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nucleonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nucleonConfig.cmake ${PROJECT_BINARY_DIR}/nucleonConfigVersion.cmake
    DESTINATION ${package_dir})

# Static archives in link order: every one before those it uses.
set(compiler_archives "")
foreach(library IN LISTS libraries)
    if(NOT library MATCHES "^nuc_(base|kernels|runtime|npusim)$")
        string(PREPEND compiler_archives " -l${library}")
    endif()
endforeach()
# The files say where they are relative to themselves, so that the folder can be moved.
file(RELATIVE_PATH prefix_from_pc /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(cmake/nucleon-runtime.pc.in ${PROJECT_BINARY_DIR}/nucleon-runtime.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nucleon-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(NUCLEON_BUILD_HOST)
    configure_file(cmake/nucleon.pc.in ${PROJECT_BINARY_DIR}/nucleon.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/nucleon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
