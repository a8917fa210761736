#include <intel-ipsec-mb.h>

#include <openssl/crypto.h>

#include "runtime/base/assert.hpp"
#include "runtime/streams/gcm_cipher.hpp"

namespace tidegate::runtime {

namespace {

// The library's functions for this processor, for as long as the process lives; null where
// OpenSSL is as fast. After it is made it is only read, so all threads may have it.
IMB_MGR* vector_functions() {
  static IMB_MGR* const functions = []() -> IMB_MGR* {
    auto* const manager = alloc_mb_mgr(0);
    if (manager == nullptr) return nullptr;
    IMB_ARCH processor = IMB_ARCH_NONE;
    init_mb_mgr_auto(manager, &processor);
    constexpr std::uint64_t needed = IMB_CPUFLAGS_AVX512_T2;  // for its code with VAES
    const bool is_fast = imb_get_errno(manager) == 0 && processor == IMB_ARCH_AVX512 &&
                         (manager->features & needed) == needed;
    if (is_fast) return manager;
    free_mb_mgr(manager);
    return nullptr;
  }();
  return functions;
}

class vector_gcm final : public gcm_cipher {
 public:
  vector_gcm(const digest& key, IMB_MGR& functions) : functions_(functions) {
    IMB_AES256_GCM_PRE(&functions_, key.data(), &key_);
  }
  ~vector_gcm() override {
    OPENSSL_cleanse(&key_, sizeof key_);
    OPENSSL_cleanse(&message_, sizeof message_);
  }

  gcm_tag seal(const gcm_nonce& nonce, std::span<const std::byte> plain,
               std::byte* into) override {
    TIDEGATE_ASSERT(plain.empty() || (plain.data() != nullptr && into != nullptr),
                    "the library would leave such a message as it is");
    gcm_tag tag{};
    IMB_AES256_GCM_ENC(&functions_, &key_, &message_, octets(into), octets(plain.data()),
                       plain.size(), octets(nonce.data()), nullptr, 0, octets(tag.data()),
                       gcm_tag_bytes);
    return tag;
  }

  bool open(const gcm_nonce& nonce, std::span<std::byte> sealed, const gcm_tag& tag) override {
    TIDEGATE_ASSERT(sealed.empty() || sealed.data() != nullptr,
                    "the library would leave such a message as it is");
    gcm_tag found{};
    IMB_AES256_GCM_DEC(&functions_, &key_, &message_, octets(sealed.data()),
                       octets(sealed.data()), sealed.size(), octets(nonce.data()), nullptr, 0,
                       octets(found.data()), gcm_tag_bytes);
    return CRYPTO_memcmp(found.data(), tag.data(), gcm_tag_bytes) == 0;
  }

 private:
  static const std::uint8_t* octets(const std::byte* bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes);
  }
  static std::uint8_t* octets(std::byte* bytes) {
    return reinterpret_cast<std::uint8_t*>(bytes);
  }

  IMB_MGR& functions_;
  // The library stores whole vectors there, and its header aligns nothing.
  static constexpr std::size_t vector_bytes = 64;
  alignas(vector_bytes) gcm_key_data key_{};
  alignas(vector_bytes) gcm_context_data message_{};
};

}  // namespace

std::unique_ptr<gcm_cipher> make_vector_gcm(const digest& key) {
  auto* const functions = vector_functions();
  if (functions == nullptr) return nullptr;
  return std::make_unique<vector_gcm>(key, *functions);
}

}  // namespace tidegate::runtime
