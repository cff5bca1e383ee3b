#include "handles.h"

namespace coll {

void check_tag(const Napi::Value& handle, bool is_handle, const HandleKind& kind) {
  bool is_right = false;
  if (is_handle && napi_check_object_type_tag(handle.Env(), handle, &kind.tag, &is_right) == napi_ok && is_right) return;
  throw WrongArgument(std::string(kind.name) + " must be a handle of that kind, got " + description_of(handle));
}

}  // namespace coll
