// Stands for BMv2's class where the switch is not there: a number of 64 bits.
#pragma once
#include <cstdint>
namespace bm {
class Data {
 public:
  Data(uint64_t number = 0) : number(number) {}
  template <typename T> T get() const { return static_cast<T>(number); }
  template <typename T> void set(T value) { number = static_cast<uint64_t>(value); }

 private:
  uint64_t number;
};
}  // namespace bm
