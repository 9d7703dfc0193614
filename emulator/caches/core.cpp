#include "core.hpp"

#include <algorithm>
#include <cstring>

namespace ishmem_emulator::caches {
namespace {

constexpr size_t kLines = 4096, kDirtyLines = 512, kPiecesOfLine = 32, kRecent = 64;

uint64_t number_of(const char* place) { return reinterpret_cast<uint64_t>(place) / kLineBytes; }
const char* start_of(uint64_t number) { return reinterpret_cast<const char*>(number * kLineBytes); }
uint64_t inside(const char* place) { return reinterpret_cast<uint64_t>(place) % kLineBytes; }

template <class T>
bool write_as(char* place, const uint8_t* data) {
  if (reinterpret_cast<uint64_t>(place) % sizeof(T)) return false;
  T value;
  memcpy(&value, data, sizeof value);
  __atomic_store_n(reinterpret_cast<T*>(place), value, __ATOMIC_SEQ_CST);
  return true;
}

// As few accesses of the host as possible: other processes see no halves of an element.
void write_memory(char* place, const uint8_t* data, uint32_t bytes) {
  while (bytes) {
    uint32_t done = 1;
    if (bytes >= 8 && write_as<uint64_t>(place, data)) done = 8;
    else if (bytes >= 4 && write_as<uint32_t>(place, data)) done = 4;
    else if (bytes >= 2 && write_as<uint16_t>(place, data)) done = 2;
    else write_as<uint8_t>(place, data);
    place += done, data += done, bytes -= done;
  }
}

void read_line(const char* from, uint8_t* to) {
  for (uint64_t at = 0; at < kLineBytes; at += 8) {
    const uint64_t word = __atomic_load_n(reinterpret_cast<const uint64_t*>(from + at), __ATOMIC_ACQUIRE);
    memcpy(to + at, &word, sizeof word);
  }
}

// What the pieces, the later ones last, have of these bytes.
void overlay(const std::vector<Piece>& pieces, const char* place, uint8_t* to, uint64_t bytes) {
  for (const Piece& piece : pieces) {
    if (!piece.overlaps(place, bytes)) continue;
    const char* first = std::max<const char*>(place, piece.place);
    const char* last = std::min<const char*>(place + bytes, piece.place + piece.bytes);
    memcpy(to + (first - place), piece.data + (first - piece.place), static_cast<size_t>(last - first));
  }
}

}  // namespace

void Core::seed(uint64_t seed, uint64_t number) {
  temper_ = temper_of(seed);
  random_ = generator_of(seed, number);
}

Line& Core::line_of(const char* place) {
  const auto [at, is_new] = lines_.try_emplace(number_of(place));
  if (is_new && lines_.size() > kLines) limit(at->first);
  return at->second;
}

Line* Core::find(const char* place) {
  const auto at = lines_.find(number_of(place));
  return at == lines_.end() ? nullptr : &at->second;
}

// Evict lines other than this one.
void Core::limit(uint64_t line) {
  for (auto at = lines_.begin(); at != lines_.end() && lines_.size() > kLines / 2;)
    at = at->first != line && at->second.pieces.empty() ? lines_.erase(at) : std::next(at);
}

void Core::fetch(Line& line, const char* place) {
  const char* start = start_of(number_of(place));
  read_line(start, line.data);
  line.epoch = epoch_;
  if (recent_.size() < kRecent) recent_.push_back(start);
  else recent_[next_recent_++ % kRecent] = start;
}

void Core::load(const char* place, void* to, uint64_t bytes, bool cached) {
  auto* out = static_cast<uint8_t*>(to);
  while (bytes) {
    const uint64_t at = inside(place), part = std::min(bytes, kLineBytes - at);
    Line& line = line_of(place);
    if (line.epoch != epoch_ || !cached) fetch(line, place);
    memcpy(out, line.data + at, part);
    overlay(line.pieces, place, out, part);
    if (!cached) line.epoch = 0;
    place += part, out += part, bytes -= part;
  }
}

void Core::store(char* place, const void* from, uint64_t bytes, const Storer& by, uint64_t message, bool cached) {
  const auto* data = static_cast<const uint8_t*>(from);
  while (bytes) {
    const uint64_t part = std::min(bytes, kPieceBytes - reinterpret_cast<uint64_t>(place) % kPieceBytes);
    add(place, data, static_cast<uint32_t>(part), by, message);
    if (!cached) line_of(place).epoch = 0;
    place += part, data += part, bytes -= part;
  }
}

// A lane's elements that lie in one block are one piece.
void Core::add(char* place, const uint8_t* from, uint32_t bytes, const Storer& by, uint64_t message) {
  Line& line = line_of(place);
  if (!line.pieces.empty()) {
    Piece& last = line.pieces.back();
    const bool same_block = reinterpret_cast<uint64_t>(place) % kPieceBytes && last.place + last.bytes == place;
    if (same_block && last.by == by && last.message == message) {
      memcpy(last.data + last.bytes, from, bytes);
      last.bytes += bytes;
      return;
    }
  }
  const uint64_t bound = percent(temper_.late_percent) ? temper_.longest : temper_.shortest;
  line.pieces.push_back({by, place, bytes, {}, ++orders_, message, now_ + random_() % bound, false, false});
  memcpy(line.pieces.back().data, from, bytes);
  dirty_.insert(number_of(place));
  if (line.pieces.size() > kPiecesOfLine) arrive(line, random_() % (line.pieces.size() - 1));
  if (dirty_.size() <= kDirtyLines) return;
  const uint64_t other = *dirty_.begin();
  arrive(lines_[other], 0);
}

// Stores to the same bytes arrive in their order.
void Core::arrive(Line& line, size_t k) {
  for (size_t i = 0; i < k;) {
    if (!line.pieces[i].overlaps(line.pieces[k].place, line.pieces[k].bytes)) {
      ++i;
      continue;
    }
    const size_t before = line.pieces.size();
    arrive(line, i);
    k -= before - line.pieces.size();
    i = 0;
  }
  const Piece piece = line.pieces[k];
  line.pieces.erase(line.pieces.begin() + static_cast<ptrdiff_t>(k));
  write_memory(piece.place, piece.data, piece.bytes);
  memcpy(line.data + inside(piece.place), piece.data, piece.bytes);
  if (line.pieces.empty()) dirty_.erase(number_of(piece.place));
}

template <class Which>
void Core::arrive_of(Line& line, const Which& which) {
  for (size_t k = 0; k < line.pieces.size();)
    if (which(line.pieces[k])) arrive(line, k), k = 0;
    else ++k;
}

template <class Which>
void Core::arrive_where(const Which& which) {
  const std::vector<uint64_t> numbers(dirty_.begin(), dirty_.end());
  for (const uint64_t number : numbers) arrive_of(lines_[number], which);
}

void Core::before_atomic(const char* place, uint64_t bytes) {
  Line* line = find(place);
  if (!line) return;
  line->epoch = 0;
  arrive_of(*line, [&](const Piece& piece) { return piece.overlaps(place, bytes); });
}

void Core::has_published(const Storer& by) {
  for (const uint64_t number : dirty_)
    for (Piece& piece : lines_[number].pieces)
      if (piece.by == by) overtake(piece);
}

// On a busy machine, whoever looks for the store takes its time.
void Core::overtake(Piece& piece) {
  if (!piece.overtaken) piece.due += temper_.overtaken;
  piece.overtaken = true;
}

void Core::fence(const Storer& by, Fence fence) {
  if (fence.beyond_group)
    arrive_where([&](const Piece& piece) { return piece.by == by || (piece.by.group == by.group && piece.in_group); });
  else
    for (const uint64_t number : dirty_)
      for (Piece& piece : lines_[number].pieces) piece.in_group |= piece.by == by;
  if (!fence.invalidates) return;
  ++epoch_;
  refetch();
}

// A load may be made before the program asks for it, as soon as no acquire forbids that.
void Core::refetch() {
  const std::vector<const char*> recent(recent_);
  for (const char* place : recent)
    if (percent(temper_.prefetch_percent / 2)) prefetch(place);
}

void Core::prefetch(const char* place) {
  if (!percent(temper_.prefetch_percent)) return;
  Line& line = line_of(place);
  if (line.epoch != epoch_) fetch(line, place);
}

void Core::begin(uint64_t now) {
  now_ = now;
  ++epoch_;
  refetch();
}

void Core::pass(uint64_t now) {
  now_ = now;
  if (percent(temper_.evict_percent)) ++epoch_;
  if (dirty_.empty()) return;
  std::vector<std::pair<Storer, uint64_t>> arrived;
  arrive_where([&](const Piece& piece) {
    if (piece.due > now) return false;
    arrived.emplace_back(piece.by, piece.order);
    return true;
  });
  for (const auto& [by, order] : arrived)
    for (const uint64_t number : dirty_)
      for (Piece& piece : lines_[number].pieces)
        if (piece.by == by && piece.order < order) overtake(piece);
}

uint64_t Core::last_due(uint64_t kernel, bool all) const {
  uint64_t last = 0;
  for (const uint64_t number : dirty_)
    for (const Piece& piece : lines_.at(number).pieces)
      if (piece.by.kernel == kernel && (all || piece.overtaken)) last = std::max(last, piece.due);
  return last;
}

void Core::finish(uint64_t kernel) {
  arrive_where([&](const Piece& piece) { return piece.by.kernel == kernel; });
  forget_lines();
}

void Core::flush() {
  arrive_where([](const Piece&) { return true; });
  forget_lines();
}

// What is in no line is not in memory that a kernel may have let go.
void Core::forget_lines() {
  ++epoch_;
  recent_.clear();
  for (auto at = lines_.begin(); at != lines_.end();) at = at->second.pieces.empty() ? lines_.erase(at) : std::next(at);
}

}  // namespace ishmem_emulator::caches
