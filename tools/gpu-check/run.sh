#!/bin/sh
# Checks @coll/nccl on this machine: sh run.sh [folder for the report]. It needs only a driver and NCCL; see docs/guides/gpus.md.
# GPU_CHECK_NODE is the path of a Node to use instead of the one in the bundle.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
reports=${1:-docs/gpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -n "${GPU_CHECK_NODE:-}" ]; then
  ln -s "$GPU_CHECK_NODE" "$work/node"
elif command -v xz >/dev/null; then
  xz --decompress --stdout "$here/node.xz" >"$work/node"
elif python3 -c 'import lzma' 2>/dev/null; then
  python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2], "wb"))' "$here/node.xz" "$work/node"
else
  echo "run.sh: unpacking Node takes xz, or python3 with lzma, and neither is here" >&2
  exit 1
fi
[ -n "${GPU_CHECK_NODE:-}" ] || chmod +x "$work/node"
if ! "$work/node" --version >/dev/null; then
  echo "run.sh: Node does not run here: it takes a processor of the kind on which it was packed ($(cat "$here/machine" 2>/dev/null || echo '?')), glibc 2.28 or newer, libstdc++, and a folder for temporary files (TMPDIR) whose programs may run" >&2
  exit 1
fi
# File transfers do not always preserve this permission.
chmod +x "$here/calls" "$here/mappings" 2>/dev/null || true

# In containers, the driver may be in a folder that only login shells have in their path.
for folder in /usr/local/nvidia/lib64 /usr/lib64-nvidia /usr/lib/wsl/lib; do
  [ ! -e "$folder/libcuda.so.1" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
done

# Often, NCCL is only installed as a part of PyTorch, in an environment or not.
if [ -z "${COLL_NCCL_LIBRARY:-}" ] && command -v python3 >/dev/null; then
  found=$(python3 -c 'import glob, site
for folder in [*site.getsitepackages(), site.getusersitepackages()]:
    for file in glob.glob(folder + "/nvidia/nccl/lib/libnccl.so.2"):
        print(file)' 2>/dev/null | head -n 1)
  [ -z "$found" ] || export COLL_NCCL_LIBRARY="$found"
fi

# The checks end by themselves, unless a driver hangs in its first call.
limit=
if timeout --foreground 5 true 2>/dev/null; then limit="timeout --foreground --kill-after=10 600"; fi
COLL_NATIVE_PATH="$here/coll_native.node" COLL_NCCL_PATH="$here/coll_nccl.node" $limit "$work/node" "$here/gpu-check.mjs" "$reports"
