#include "harness/report_files.h"

#include "harness/report_html.h"
#include "harness/report_markdown.h"
#include "harness/report_model.h"

namespace dlo::harness {

Status write_reports(platform::FileSystem& files, const platform::Path& directory,
                     const Results& results) {
  const Report report = make_report(results);
  if (Status written = platform::write_text_atomically(files, directory / kMarkdownFileName,
                                                       to_markdown(report));
      !written) {
    return written;
  }
  return platform::write_text_atomically(files, directory / kHtmlFileName, to_html(report));
}

}  // namespace dlo::harness
