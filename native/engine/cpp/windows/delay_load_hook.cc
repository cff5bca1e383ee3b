#define NOMINMAX
#include <windows.h>

#include <delayimp.h>

#include <cstring>

namespace {

FARPROC WINAPI node_is_the_running_program(unsigned event, PDelayLoadInfo info) {
  if (event != dliNotePreLoadLibrary || _stricmp(info->szDll, "node.exe") != 0) return nullptr;
  return reinterpret_cast<FARPROC>(GetModuleHandleW(nullptr));
}

}  // namespace

PfnDliHook __pfnDliNotifyHook2 = node_is_the_running_program;
