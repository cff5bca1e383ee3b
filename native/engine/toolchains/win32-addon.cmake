# An addon takes Node's functions from the program that loads it, whatever that is called: electron.exe is no node.exe.
# So they come from a delay-import library, and a hook that answers "the running program" when Windows looks for node.exe.
set(definition ${COLL_NODE_API_DEFINITION})
set(delayed ${CMAKE_CURRENT_BINARY_DIR}/libnode_api.a)
add_custom_command(
  OUTPUT ${delayed}
  COMMAND ${CMAKE_DLLTOOL} --input-def ${definition} --output-delaylib ${delayed}
  DEPENDS ${definition})
add_custom_target(coll_node_api DEPENDS ${delayed})
add_dependencies(coll_native coll_node_api)
# Its macros are for nobody else.
set_source_files_properties(cpp/windows/delay_load_hook.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_sources(coll_native PRIVATE cpp/windows/delay_load_hook.cc)
# Windows has no libstdc++ of its own.
target_link_options(coll_native PRIVATE -static)
target_link_libraries(coll_native PRIVATE ${delayed} delayimp)
target_link_libraries(coll_engine PUBLIC synchronization)
