#pragma once

#include "message_schedules.h"
#include "test_bytes.h"
#include "messages/message_program.h"
#include "threads/offer.h"
#include "threads/execute.h"

namespace coll::test {

// The inputs and outputs of every rank, and the results of execute(), with which they are compared.
struct Case {
  Case(const Schedule& schedule, std::size_t length, std::vector<std::size_t> starts, bool in_place, std::mt19937& random, bool gathers = false)
      : can_gather(gathers), begins(std::move(starts)) {
    begins.push_back(length);
    const Program program = parse(program_words(schedule));
    const std::size_t ranks = static_cast<std::size_t>(schedule.ranks);
    in_size = byte_size(schedule.dtype);
    out_size = program.moves() ? in_size : byte_size(result_of(schedule.dtype, schedule.op));
    const std::size_t in = length / (program.has_block_in() ? ranks : 1) * in_size;
    const std::size_t out = length / (program.has_block_out() ? ranks : 1) * out_size;
    inputs.assign(ranks, std::vector<std::byte>(in));
    for (std::vector<std::byte>& input : inputs) fill_randomly(input, static_cast<unsigned>(random()), 0x3f);
    expected.assign(ranks, std::vector<std::byte>(out));
    execute_all(program, length);
    is_in_place = in_place && in == out && in_size == out_size && schedule.kind != Kind::kAllToAll;
    outputs.assign(ranks, std::vector<std::byte>(out));
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      offers.push_back(offer_of(schedule, rank, length));
    }
  }

  void execute_all(const Program& program, std::size_t length) {
    std::vector<const std::byte*> sources;
    std::vector<std::byte*> targets;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      sources.push_back(inputs[rank].data());
      targets.push_back(expected[rank].data());
    }
    const std::size_t whole[] = {0, length};
    GroupBuffers buffers;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) buffers.ranks.push_back({&sources[rank], &targets[rank]});
    buffers.begins = whole;
    buffers.piece_count = 1;
    Scratch scratch;
    scratch.fit(program);
    execute(program, buffers, 0, length, scratch);
  }

  Offer offer_of(const Schedule& schedule, int rank, std::size_t length) {
    const Words words = message_words(schedule);
    Offer offer{};
    if (can_gather) offer.program = std::make_shared<Program>(parse(program_words(schedule)));
    offer.messages = std::make_shared<MessageProgram>(parse_message_program(words.data(), words.size(), rank));
    offer.length = length;
    offer.begins = begins;
    offer.fingerprint = 42;
    std::vector<std::byte>& input = inputs[static_cast<std::size_t>(rank)];
    std::vector<std::byte>& output = is_in_place ? input : outputs[static_cast<std::size_t>(rank)];
    const Request& request = *offer.messages;
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      if (request.reads(rank)) offer.buffers.inputs.push_back(input.data() + begins[i] * in_size);
      if (request.writes(rank)) offer.buffers.outputs.push_back(output.data() + begins[i] * out_size);
    }
    return offer;
  }

  // The first rank with a wrong result; -1 if there is none.
  int first_wrong() const {
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      const std::vector<std::byte>& found = is_in_place ? inputs[rank] : outputs[rank];
      if (!offers[rank].buffers.outputs.empty() && !has_bytes(found.data(), expected[rank])) return static_cast<int>(rank);
    }
    return -1;
  }

  bool can_gather;  // small all-reduces, if they are
  std::vector<std::size_t> begins;
  std::size_t in_size;
  std::size_t out_size;
  bool is_in_place;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::vector<std::byte>> expected;
  std::vector<Offer> offers;
};

}  // namespace coll::test
