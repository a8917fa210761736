#!/usr/bin/env python3
"""classes.py counts what it says."""
import unittest

import classes

HEADER = """
class core : public base {
 public:
  explicit core(int x) : x_(x) {}
  ~core() override;
  core(const core&) = delete;
  core& operator=(const core&) = delete;
  void push(int a, std::function<void(int)> done);  // f(x)
  int size() const { return x_; }
  template <class T>
  static T made_of(const T& value);
  using handler = void(int);
  friend bool operator==(const core&, const core&) = default;
  struct part {
    void inner();
  };

 private:
  std::function<int(double)> callback_;
  int x_ = size_of(3);
  std::vector<int> y_{1, 2};
};
"""


class ClassesTest(unittest.TestCase):
    def test_methods_are_counted_and_nothing_else(self):
        self.assertEqual(classes.methods_in(HEADER), {"core": 3, "part": 1})

    def test_a_class_above_the_limit_is_found(self):
        many = "struct big {\n" + "".join(f"  void f{i}();\n" for i in range(classes.METHODS + 1)) + "};\n"
        self.assertEqual(classes.methods_in(many), {"big": classes.METHODS + 1})

    def test_sources_are_those_with_definitions(self):
        text = classes.without_comments("int core::size() const {\n  return other::size(1);\n}\n// void core::x() {}\n")
        self.assertEqual([match.group(1) for match in classes.DEFINITION.finditer(text)], ["core"])


if __name__ == "__main__":
    unittest.main()
