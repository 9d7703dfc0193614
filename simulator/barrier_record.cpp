#include "barrier_record.hpp"

#include <atomic>

#include "kernel.hpp"

namespace simulator {

namespace {

class Report {
 public:
  explicit Report(const volatile uint32_t *record) : record_(record) {}
  bool complete() const { return value(Field::complete); }
  std::string text() const { return value(Field::found) == (uint32_t)Found::sum ? differentSums() : differentPlaces(); }

 private:
  uint32_t value(Field field) const { return record_[(uint32_t)field]; }
  uint32_t place(uint32_t item) const { return record_[placesAt + item]; }
  uint32_t sum(uint32_t item) const { return record_[sumsAt + item]; }
  uint32_t barriers(uint32_t item) const { return sum(item) & barriersOfSum; }
  static Reached kind(uint32_t number) { return (Reached)(number >> kindShift); }
  bool atEnd() const { return value(Field::found) == (uint32_t)Found::end; }
  bool hasReached(uint32_t item, uint32_t number) const;
  std::string words(uint32_t number) const;
  std::string differentPlaces() const;
  std::string differentSums() const;

  const volatile uint32_t *record_;
};

// Whether a work-item has reached a barrier. Those before the one that reports may have gone on from it.
bool Report::hasReached(uint32_t item, uint32_t number) const {
  const uint32_t first = value(Field::item);
  return place(item) == number || (!atEnd() && item < first && barriers(item) > barriers(first));
}

std::string Report::words(uint32_t number) const {
  switch (kind(number)) {
    case Reached::operation: return "an operation";
    case Reached::call: return "a call with barriers";
    default: return "a barrier";
  }
}

std::string Report::differentPlaces() const {
  const uint32_t item = value(Field::item), number = atEnd() ? place(item) : value(Field::number);
  uint32_t count = 0;
  for (uint32_t i = 0; i < value(Field::items); ++i) count += hasReached(i, number);
  std::string one = "; work-item " + std::to_string(item);
  if (atEnd())
    one += " has";
  else if (kind(place(item)) == Reached::end)
    one += " ended without it";
  else
    one += kind(place(item)) == kind(number) ? " is at another one" : " is at " + words(place(item));
  return std::to_string(count) + " of the " + std::to_string(value(Field::items)) + " work-items of a group have reached " +
         words(number) + " of the group that the others have not reached" + one;
}

std::string Report::differentSums() const {
  const uint32_t item = value(Field::item), items = value(Field::items);
  uint32_t alike = 0, unlike = 0;
  for (uint32_t i = 0; i < items; ++i) alike += sum(i) == sum(0), unlike += sum(i) == sum(item);
  const bool others = barriers(item) == barriers(0);
  std::string text = std::to_string(alike) + " of the " + std::to_string(items) + " work-items of a group have reached " +
                     std::to_string(barriers(0)) + " barriers, but " + std::to_string(unlike) + " have reached " +
                     std::to_string(barriers(item)) + (others ? " other ones" : "");
  if (alike + unlike < items) text += " and " + std::to_string(items - alike - unlike) + " other numbers of them";
  return text + "; work-item " + std::to_string(item) + " is the first that differs from work-item 0";
}

}  // namespace

bool reportBarrier(const std::string &kernel, const volatile uint32_t *record) {
  static std::atomic<bool> told{false};
  const Report report(record);
  if (!report.complete()) return false;
  if (!told.exchange(true))
    complain("kernel %s: %s: the device is lost", readableName(kernel).c_str(), report.text().c_str());
  return true;
}

}  // namespace simulator
