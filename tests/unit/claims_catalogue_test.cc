// The catalogue of printed claims: what is carried, and how a wrong file is refused.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "claims/catalogue.h"
#include "engine/check.h"
#include "support/paths.h"

namespace terrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kHead = "paper = \"p\"\ntitle = \"T\"\nvenue = \"V\"\n";

std::string claim_with(const std::string& rest) {
  return std::string(kHead) +
         "[[claim]]\nid = \"p.a\"\nsource = \"Fig. 1\"\nkind = \"performance\"\nstatement = \"S\"\nmetric = \"m\"\n"
         "machine = \"x\"\ncheck = \"simulation\"\n" +
         rest;
}

std::string refusal(const std::string& text) {
  try {
    parse_claims("c.toml", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ClaimCatalogue, EveryPaperIsCarriedWithAllItsClaims) {
  std::set<std::string> ids;
  u64 claims = 0, headlines = 0, simulated = 0;
  for (const std::string& paper : claim_papers()) {
    const PaperClaims read = read_claims(source_folder(), paper);
    claims += read.claims.size();
    for (const PrintedClaim& claim : read.claims) {
      headlines += claim.headline;
      simulated += claim.check == ClaimCheck::kSimulation;
      EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
      EXPECT_FALSE(printed_text(claim).empty()) << claim.id;
    }
  }
  EXPECT_EQ(claims, 282u);
  EXPECT_EQ(headlines, 30u);
  EXPECT_EQ(simulated, 203u);
}

TEST(ClaimCatalogue, TheSearchOfCdMustEndBeforeATenantCompletes) {
  const PaperClaims paper = read_claims(source_folder(), "cdsearch");
  ASSERT_EQ(paper.least.size(), 1u);
  EXPECT_TRUE(paper.least.front().search_ends);
  EXPECT_FALSE(read_claims(source_folder(), "mask").least.front().search_ends);
  EXPECT_THAT(refusal(std::string(kHead) + "[[least]]\ndesigns = [\"d\"]\nsearch_ends = 1\nreason = \"r\"\n"),
              HasSubstr("search_ends must be true or false, not 1"));
}

TEST(ClaimCatalogue, AMistakeIsNamedWithItsLine) {
  EXPECT_THAT(refusal(claim_with("value = 3\nunit = \"percent\"\ndirection = \"increase\"\nbound = \"approx\"\n")),
              AllOf(HasSubstr("c.toml:4"), HasSubstr("unit = \"percent\" is not known"), HasSubstr("percent_change")));
  EXPECT_THAT(refusal(claim_with("value = \"3\"\nunit = \"ratio\"\ndirection = \"increase\"\nbound = \"approx\"\n")),
              AllOf(HasSubstr("c.toml:12"), HasSubstr("value must be a number")));
  EXPECT_THAT(refusal(claim_with("unit = \"ratio\"\ndirection = \"increase\"\nbound = \"approx\"\n")),
              HasSubstr("lacks the key value"));
  EXPECT_THAT(
      refusal(claim_with("value = 3\nunit = \"ratio\"\ndirection = \"increase\"\nbound = \"approx\"\nvalu = 1\n")),
      AllOf(HasSubstr("c.toml:16"), HasSubstr("has no key \"valu\""), HasSubstr("value")));
  EXPECT_THAT(refusal(claim_with("value = 1\nunit = \"ordering\"\ndirection = \"order:a\"\nbound = \"eq\"\n")),
              HasSubstr("is no order such as"));
  EXPECT_THAT(refusal(claim_with("value = 1\nunit = \"ratio\"\ndirection = \"order:a>b\"\nbound = \"eq\"\n")),
              HasSubstr("belong together"));
  EXPECT_THAT(refusal(claim_with("value = 5\nhigh = 3\nunit = \"ratio\"\ndirection = \"equal\"\nbound = \"range\"\n")),
              HasSubstr("below its start"));
  EXPECT_THAT(refusal(kHead), HasSubstr("has no [[claim]]"));
  EXPECT_THAT(refusal("paper = \n"), HasSubstr("c.toml:1"));
}

TEST(ClaimCatalogue, AnUnknownPaperIsRefusedWithTheKnownOnes) {
  try {
    read_claims(source_folder(), "maks");
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no paper named \"maks\"; did you mean \"mask\"?"));
  }
}

TEST(ClaimCatalogue, PrintedValuesAreShownAsAPersonWritesThem) {
  const auto shown = [](const std::string& rest) {
    return printed_text(parse_claims("c.toml", claim_with(rest)).claims.front());
  };
  EXPECT_EQ(shown("value = 30\nunit = \"percent_change\"\ndirection = \"increase\"\nbound = \"approx\"\n"), "+30 %");
  EXPECT_EQ(shown("value = 22.4\nunit = \"percent_change\"\ndirection = \"decrease\"\nbound = \"approx\"\n"),
            "-22.4 %");
  EXPECT_EQ(shown("value = 50\nunit = \"percent_change\"\ndirection = \"decrease\"\nbound = \"gt\"\n"),
            "more than 50 % less");
  EXPECT_EQ(shown("value = 1.86\nunit = \"ratio\"\ndirection = \"increase\"\nbound = \"approx\"\n"), "1.86x");
  EXPECT_EQ(shown("value = 20\nunit = \"absolute\"\ndim = \"walks\"\ndirection = \"increase\"\nbound = \"gt\"\n"),
            "more than 20 walks");
  EXPECT_EQ(
      shown(
          "value = 27\nhigh = 61\nunit = \"absolute\"\ndim = \"percent\"\ndirection = \"equal\"\nbound = \"range\"\n"),
      "27 to 61 %");
  EXPECT_EQ(shown("value = 1\nunit = \"ordering\"\ndirection = \"order:a>b>=c,d\"\nbound = \"eq\"\n"), "a > b >= c, d");
}

TEST(ClaimCatalogue, SetsSayHowManyWorkloadsANumberIsAbout) {
  const PaperClaims simt = read_claims(source_folder(), "simt");
  EXPECT_EQ(simt.workloads_of(*simt.find("simt.fig8.speedup_irregular")), 6u);
  EXPECT_EQ(simt.workloads_of(*simt.find("simt.fig3.gev_tail")), 1u);
  const PaperClaims dws = read_claims(source_folder(), "dws");
  EXPECT_EQ(dws.workloads_of(*dws.find("dws.fig10.hh_fairness")), 0u);  // the size of a class is not printed
}

}  // namespace
}  // namespace terrace
