#pragma once

// Marks functions that the doubles export under the names of the real libraries.
#define COLL_EXPORT extern "C" __attribute__((visibility("default")))
