# What is installed, by component, each of which may be a package of its own:
#   command      nucleon and the schema of its --json
#   library      libnucleon.so.0
#   development  headers, libraries to link, a CMake package, pkg-config files
# docs/install.md says how it is used. Of a build for a microcontroller there is development alone.
option(NUCLEON_INSTALL_NEUTRON_DRIVER
    "Install the simulator also as libNeutronDriver, the vendor's name: software made for that library then runs on it" OFF)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nucleon)

# ---- headers ----

set(device_headers NeutronDriver.h NeutronErrors.h decision.h kernels.h runtime.h runtime.hpp selftest.h simulator.h simulator_faults.h types.h update.h)
if(NUCLEON_BUILD_HOST)
    install(DIRECTORY include/nucleon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
else()
    list(TRANSFORM device_headers PREPEND include/nucleon/)
    install(FILES ${device_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nucleon COMPONENT development)
endif()
install(FILES ${PROJECT_BINARY_DIR}/include/nucleon/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nucleon
    COMPONENT development)

# ---- libraries and their CMake package: a file for each part ----

function(install_part part target)
    install(TARGETS ${target} EXPORT nucleon-${part} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
    install(EXPORT nucleon-${part} NAMESPACE nucleon:: DESTINATION ${package_dir} COMPONENT development)
endfunction()
install_part(runtime nucleon_runtime)
install_part(simulator nucleon_simulator)
set(NUCLEON_PARTS runtime simulator)
if(NUCLEON_BUILD_HOST)
    install_part(compiler nucleon_shared)
    install_part(compiler_static nucleon_static)
    set(NUCLEON_PARTS runtime simulator compiler) # and compiler_static where it is asked for
endif()
configure_package_config_file(cmake/nucleonConfig.cmake.in ${PROJECT_BINARY_DIR}/nucleonConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nucleonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nucleonConfig.cmake ${PROJECT_BINARY_DIR}/nucleonConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT development)

# ---- pkg-config; the files say where they are relative to themselves, so that the folder can be moved ----

file(RELATIVE_PATH prefix_from_pc /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
set(pc_names nucleon-runtime nucleon-simulator)
set(thread_library "")
if(NUCLEON_BUILD_HOST)
    list(APPEND pc_names nucleon)
    set(thread_library " -lpthread")
endif()
foreach(name IN LISTS pc_names)
    configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

# ---- the command, the licence, the vendor's name ----

if(NUCLEON_BUILD_HOST)
    install(TARGETS nucleon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
    install(FILES docs/schema/nucleon.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/nucleon COMPONENT command)
    install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
else()
    install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
endif()
if(NUCLEON_INSTALL_NEUTRON_DRIVER)
    install(TARGETS nuc_npusim ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
    if(TARGET NeutronDriver)
        install(TARGETS NeutronDriver LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
    endif()
endif()
